#include "runtime/task.h"

namespace strand::runtime {

void write_snapshot(const AttemptContext& context, const Task& task, state::SnapshotBuilder builder) {
  auto shared = std::make_shared<state::SnapshotBuilder>(std::move(builder));
  env::FileSystem* files = context.env.files;
  const auto lane = static_cast<uint64_t>(task.id());
  context.env.executor->submit(lane, [=, mailbox = task.shared_mailbox(), dir = context.snapshot_dir] {
    SnapshotWritten answer{shared->epoch(), Status(), {}};
    auto refs = shared->write(*files, dir);
    if (refs.ok()) {
      answer.refs = *std::move(refs);
    } else {
      answer.status = refs.status();
    }
    mailbox->post(std::move(answer));
  });
}

}  // namespace strand::runtime
