#include <algorithm>
#include <cctype>
#include <iterator>

#include "line_reader.h"

namespace strand::app::shell {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool begins(const std::string& word, const std::string& begin) {
  return word.size() >= begin.size() && std::equal(begin.begin(), begin.end(), word.begin(),
                                                   [](char a, char b) { return lower(a) == lower(b); });
}

bool has_small_letters(const std::string& text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

std::vector<std::string> completions(const std::string& begin, const Vocabulary& words) {
  std::vector<std::string> found;
  const auto fits = [&](const std::string& word) { return begins(word, begin); };
  std::ranges::copy_if(words.capitals, std::back_inserter(found), fits);
  if (has_small_letters(begin)) {
    for (std::string& word : found) std::ranges::transform(word, word.begin(), lower);
  }
  std::ranges::copy_if(words.names, std::back_inserter(found), fits);
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

std::string common_beginning(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  std::string common = words[0];
  for (const std::string& word : words) {
    size_t n = 0;
    while (n < common.size() && n < word.size() && common[n] == word[n]) ++n;
    common.resize(n);
  }
  return common;
}

}  // namespace strand::app::shell
