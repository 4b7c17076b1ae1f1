#include "ops/stream/window_contents.h"

namespace strand::ops {

Result<state::Namespace> Firing::window_space() const {
  if (facts_.merging) {
    return Status(ErrorCode::kBadWindow, "state of a single window is not possible where windows merge")
        .hint("keep it by key instead");
  }
  if (!facts_.window) return state::Namespace{};
  return state::Namespace{facts_.window->start, facts_.window->end};
}

Status ListContents::open(state::KeyedState& state) {
  state_ = &state;
  STRAND_TRY(table_, state.table<std::vector<Record>>("window-contents"));
  return functions_.open ? functions_.open(state) : Status();
}

void ListContents::add(const Record& record, state::Namespace space) {
  table_->at(state_->at(space)).push_back(record);
}

void ListContents::merge(state::Namespace to, const std::vector<state::Namespace>& from) {
  for (const state::Namespace space : from) {
    std::vector<Record>* source = table_->find(state_->at(space));
    if (source == nullptr) continue;
    std::vector<Record> moved = std::move(*source);
    table_->erase(state_->at(space));
    std::vector<Record>& target = table_->at(state_->at(to));
    target.insert(target.end(), std::make_move_iterator(moved.begin()), std::make_move_iterator(moved.end()));
  }
}

Status ListContents::fire(const Firing& firing, state::Namespace space) {
  const std::vector<Record>* contents = table_->find(state_->at(space));
  if (contents == nullptr) return {};
  if (!evictor_) return functions_.result(firing, std::vector<Record>(*contents));
  std::vector<Record> elements = *contents;
  if (!evictor_->after) window::evict(*evictor_, elements);
  STRAND_OK(functions_.result(firing, elements));
  if (evictor_->after) window::evict(*evictor_, elements);
  if (elements.empty()) {
    clear(space);
  } else {
    table_->at(state_->at(space)) = std::move(elements);
  }
  return {};
}

}  // namespace strand::ops
