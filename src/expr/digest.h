// Message digests, as lower-case hexadecimal text.
#pragma once

#include <string>
#include <string_view>

namespace strand::expr {

std::string md5_hex(std::string_view bytes);   // RFC 1321
std::string sha1_hex(std::string_view bytes);  // FIPS 180-4, as the others
std::string sha224_hex(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
std::string sha384_hex(std::string_view bytes);
std::string sha512_hex(std::string_view bytes);

/// Upper-case digits of each byte.
std::string hex_of(std::string_view bytes, bool upper);

}  // namespace strand::expr
