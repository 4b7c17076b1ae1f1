#include "connect/file/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <string>

namespace strand::connect::file {
namespace {

Status damaged(const char* packing, const char* why) {
  return Status(ErrorCode::kCorruptInput, std::string(packing) + " data are damaged: " + why);
}

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() {
    constexpr int kGzipOnly = 16;
    STRAND_CHECK(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK);
  }
  ~GzipUnpacker() override { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  Status unpack(std::string_view packed, char* into, size_t size, size_t& used, size_t& made) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(size);
    Status status;
    bool more = !packed.empty() || !between_;
    while (more && status.ok()) {
      status = step();
      more = stream_.avail_in > 0 && stream_.avail_out > 0;
    }
    used = packed.size() - stream_.avail_in;
    made = size - stream_.avail_out;
    return status;
  }
  bool between_members() const override { return between_; }

 private:
  Status step() {
    between_ = false;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_ = true;
      STRAND_CHECK(inflateReset(&stream_) == Z_OK);
      return Status();
    }
    if (result == Z_OK || result == Z_BUF_ERROR) return Status();
    return damaged("gzip", stream_.msg != nullptr ? stream_.msg : "unknown content");
  }

  z_stream stream_{};
  bool between_ = true;
};

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) { STRAND_CHECK(stream_ != nullptr); }
  ~ZstdUnpacker() override { ZSTD_freeDStream(stream_); }
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  Status unpack(std::string_view packed, char* into, size_t size, size_t& used, size_t& made) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{into, size, 0};
    bool more = !packed.empty() || !between_;
    while (more) {
      const size_t left = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(left)) return damaged("Zstandard", ZSTD_getErrorName(left));
      between_ = left == 0;
      more = in.pos < in.size && out.pos < out.size;
    }
    used = in.pos;
    made = out.pos;
    return Status();
  }
  bool between_members() const override { return between_; }

 private:
  ZSTD_DStream* stream_;
  bool between_ = true;
};

}  // namespace

std::unique_ptr<Unpacker> make_unpacker(Packing packing) {
  if (packing == Packing::kGzip) return std::make_unique<GzipUnpacker>();
  return std::make_unique<ZstdUnpacker>();
}

}  // namespace strand::connect::file
