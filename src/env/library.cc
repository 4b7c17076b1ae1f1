#include "env/library.h"

#include <dlfcn.h>
#include <unistd.h>

namespace strand::env {

namespace {

std::string loader_error() {
  const char* text = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one text a thread
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

Result<const void*> library_symbol(const std::string& path, const std::string& symbol) {
  if (access(path.c_str(), F_OK) != 0)
    return Status(ErrorCode::kFileNotFound, "there is no file '" + path + "'")
        .hint(
            "build the library, or name the file where it lies; a relative path begins where strandline was "
            "started");
  // Without a slash the loader would look in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(ErrorCode::kBadLibrary, "'" + path + "' cannot be loaded: " + loader_error())
        .hint("build it as a shared library for this machine (-shared -fPIC)");
  }
  const void* address = dlsym(library, symbol.c_str());
  if (address != nullptr) return address;
  return Status(ErrorCode::kBadLibrary, "'" + path + "' exports no " + symbol)
      .hint("list its functions with STRAND_EXPORT_FUNCTIONS (include/strandline/function_abi.h)");
}

}  // namespace strand::env
