// std::visit by cases.
#pragma once

namespace strand {

/// One function object of several lambdas: the one whose argument fits is called.
template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace strand
