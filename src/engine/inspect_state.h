// `strandline state`: inside a checkpoint or savepoint, without the job and without touching it.
#pragma once

#include <string>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "env/env.h"

namespace strand::engine {

struct FoundManifest {
  std::string path;
  checkpoint::Manifest manifest;
};

/// `path`: a manifest, the folder of a savepoint, the checkpoint folder of a job or the folder above it (then
/// the newest manifest, damaged ones too). Errors: kFileNotFound, kCheckpointUnreadable, kNewerFormat.
Result<FoundManifest> find_manifest(env::FileSystem& files, const std::string& path);

/// Epoch, generation, positions, floors, sections with sizes, ledger, fingerprint.
std::string manifest_text(const FoundManifest& found);
std::string manifest_json(const FoundManifest& found);

}  // namespace strand::engine
