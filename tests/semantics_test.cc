// Every sentence of docs/semantics and docs/cases.md ends with the tests that prove it, and the GoogleTest
// ones among them are there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// `Suite.Name` of every TEST, TEST_F, TEST_P, TYPED_TEST and property in the sources.
std::set<std::string> tests_in_the_sources() {
  static const std::regex kTest(R"(\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+))");
  std::set<std::string> names;
  for (const char* top : {"src", "apps", "tests", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      const std::string path = entry.path().string();
      if (!path.ends_with("_test.cc") && !path.ends_with("_test.h")) continue;
      const std::string text = text_of(entry.path());
      for (auto it = std::sregex_iterator(text.begin(), text.end(), kTest); it != std::sregex_iterator();
           ++it)
        names.insert((*it)[1].str() + "." + (*it)[2].str());
    }
  }
  return names;
}

/// What stands in brackets at the end of a numbered sentence, by `file: number`.
struct Sentence {
  std::string where;
  std::string text;
  std::string proof;
};

std::vector<Sentence> sentences() {
  static const std::regex kNumbered(R"(^([A-Z]?\d+[a-z]{0,2})\. (.*)$)");
  std::vector<Sentence> found;
  std::vector<fs::path> pages = {"docs/cases.md"};
  for (const auto& entry : fs::directory_iterator("docs/semantics")) pages.push_back(entry.path());
  for (const fs::path& page : pages) {
    if (page.extension() != ".md") continue;
    std::istringstream lines(text_of(page));
    bool open = false;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_match(line, match, kNumbered)) {
        found.push_back({page.filename().string() + ": " + match[1].str(), match[2].str(), ""});
        open = true;
      } else if (line.empty() || line[0] == '#') {
        open = false;
      } else if (open) {
        found.back().text += " " + line;
      }
    }
  }
  for (Sentence& sentence : found) {
    const size_t from = sentence.text.rfind('[');
    if (from != std::string::npos && sentence.text.ends_with("]"))
      sentence.proof = sentence.text.substr(from + 1, sentence.text.size() - from - 2);
  }
  return found;
}

TEST(Semantics, EverySentenceNamesTestsThatExist) {
  static const std::regex kName(R"(^\w+\.\w+$)");
  static const std::regex kProgram(R"(^(simulate|conformance)\b.*$)");
  static const std::regex kScript(R"(^(\w+_test\.py)\b.*$)");
  static const std::regex kPlayed(R"(^sql\.(\w+/\w+)$)");
  const auto tests = tests_in_the_sources();
  const auto all = sentences();
  EXPECT_GT(all.size(), 80u);
  for (const Sentence& sentence : all) {
    EXPECT_FALSE(sentence.proof.empty()) << sentence.where << " ends without a test in brackets";
    std::istringstream proofs(sentence.proof);
    for (std::string proof; std::getline(proofs, proof, ',');) {
      proof.erase(0, proof.find_first_not_of(' '));
      if (std::regex_match(proof, kProgram)) continue;
      if (std::smatch script; std::regex_match(proof, script, kScript)) {
        EXPECT_TRUE(fs::exists("tests/integration/" + script.str(1)) ||
                    fs::exists("tests/compat/" + script.str(1)) ||
                    fs::exists("tests/servers/" + script.str(1)))
            << sentence.where << ": there is no " << script.str(1);
        continue;
      }
      if (std::smatch played; std::regex_match(proof, played, kPlayed)) {
        EXPECT_TRUE(fs::exists("tests/sql/" + played.str(1) + ".case"))
            << sentence.where << ": there is no case " << played.str(1);
        continue;
      }
      EXPECT_TRUE(std::regex_match(proof, kName)) << sentence.where << ": " << proof << " is no test";
      EXPECT_TRUE(tests.contains(proof)) << sentence.where << ": there is no test " << proof;
    }
  }
}

/// The canaries that are named are those of the simulator.
TEST(Semantics, CanariesAreThoseOfTheSimulator) {
  const std::string simulator = text_of("apps/strandline/commands/sim_canaries.cc");
  for (const Sentence& sentence : sentences()) {
    std::istringstream proofs(sentence.proof);
    for (std::string proof; std::getline(proofs, proof, ',');) {
      const size_t at = proof.find("simulate canary: ");
      if (at == std::string::npos) continue;
      const std::string name = proof.substr(at + 17);
      EXPECT_NE(simulator.find("(\"" + name), std::string::npos) << sentence.where << ": no canary " << name;
    }
  }
}

}  // namespace
