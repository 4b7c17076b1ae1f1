// The fields of a struct, by name: what makes it an element of a stream.
#pragma once

#include <tuple>
#include <utility>

namespace strandline {

template <class T, class M>
struct Field {
  const char* name;
  M T::* member;
};

namespace detail {
constexpr std::tuple<> fields_of_pairs() { return {}; }
template <class T, class M, class... More>
constexpr auto fields_of_pairs(const char* name, M T::* member, More... more) {
  return std::tuple_cat(std::make_tuple(Field<T, M>{name, member}), fields_of_pairs(more...));
}
}  // namespace detail

/// Names and members in turn. A struct says what its columns are with a static function of that name:
///
///     struct Click {
///       std::string user;
///       int64_t spend = 0;
///       static auto fields() { return strandline::fields("user", &Click::user, "spend", &Click::spend); }
///     };
template <class... NamesAndMembers>
constexpr auto fields(NamesAndMembers... names_and_members) {
  return detail::fields_of_pairs(names_and_members...);
}

/// Where the fields of a struct are found. Specialise it for a type that cannot have `fields()` itself.
template <class T>
struct FieldsOf {
  static constexpr auto get()
    requires requires { T::fields(); }
  {
    return T::fields();
  }
};

template <class T>
concept Struct = requires { FieldsOf<T>::get(); };

/// Calls f(name, member) for each field, in order.
template <Struct T, class F>
constexpr void for_each_field(F&& f) {
  std::apply([&](const auto&... field) { (f(field.name, field.member), ...); }, FieldsOf<T>::get());
}

}  // namespace strandline
