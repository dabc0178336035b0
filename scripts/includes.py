#!/usr/bin/python3
"""Checks that each file includes, directly or not, what declares the types and functions that it names.

A build would not notice: one that compiles the files of a room together has the includes of the file before, and every
build has precompiled the standard library. Names that several headers declare need one of them. Of our own names it
knows types, and functions whose name has an underscore, at the beginning of a line; of the standard library, STANDARD.
Prints every finding and exits 1 if there is one."""
import collections
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src"
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
# At the beginning of a line: members of classes are indented.
TYPE = re.compile(
    r"^(?:template\s*<[^;{]*>\s*)?(?:(?:class|struct|enum class|enum|union)\s+(?:\[\[\w+\]\]\s+|alignas\([^)]*\)\s+)?"
    r"([A-Z]\w+)(?:\s+final)?\s*(?::[^:;]|\{|$)|using\s+([A-Z]\w+)\s*=|concept\s+([A-Z]\w+))",
    re.M,
)
FUNCTION = re.compile(
    r"^(?:template\s*<[^;{]*>\s*\n?)?(?:\[\[nodiscard\]\]\s*)?(?:inline |constexpr |static |extern )*"
    r"[A-Za-z_][\w:<>,&*\s]*?[\s&*]([a-z]\w*_\w+)\(",
    re.M,
)
# Also forward declarations, members and template parameters.
ANY_TYPE = re.compile(r"\b(?:class|struct|enum class|enum|union|using|concept|typename)(?:\.\.\.)?\s+([A-Z]\w*)")
STANDARD_HEADER = re.compile(r"^\s*#\s*include <([^>]+)>", re.M)
STANDARD_NAME = re.compile(r"\bstd::(\w+)")
CALL = re.compile(r"(?<![\w.>:])([a-z]\w*_\w+)\(")
ANY_FUNCTION = re.compile(r"[\w>&*]\s+[&*]?(?:\w+::)?([a-z]\w*_\w+)\(")

# Names of the standard library, each after the headers of which one suffices.
STANDARD = """
algorithm: all_of any_of binary_search clamp copy copy_n count_if equal equal_range fill fill_n find_if lower_bound max
    max_element min min_element minmax none_of nth_element partition reverse remove_if rotate sort stable_sort transform
    unique upper_bound
array: array to_array
atomic: atomic atomic_flag atomic_thread_fence memory_order_acquire memory_order_relaxed memory_order_release
bit: bit_cast bit_ceil bit_width countl_zero countr_zero endian has_single_bit popcount rotl
charconv: chars_format from_chars to_chars
charconv system_error: errc
chrono: chrono
cmath: ceil fabs floor isfinite isinf isnan pow signbit sqrt
condition_variable: condition_variable
coroutine: coroutine_handle noop_coroutine suspend_always suspend_never
cstring string string_view: memchr memcmp memcpy memmove memset strlen
deque: deque
exception new stdexcept: current_exception exception exception_ptr rethrow_exception terminate
functional: bit_and bit_or equal_to function hash invoke plus reference_wrapper
initializer_list string vector array span utility memory optional functional map set: initializer_list
iterator string vector array span map string_view deque set: back_inserter distance next prev size ssize
limits: numeric_limits
list: list
map: map multimap
map set functional: greater less
memory: addressof allocator construct_at destroy_at enable_shared_from_this make_shared make_unique shared_ptr
    unique_ptr weak_ptr
mutex: call_once defer_lock lock_guard mutex once_flag recursive_mutex scoped_lock try_to_lock unique_lock
new: align_val_t bad_alloc launder nothrow
numeric: accumulate gcd iota reduce
optional: nullopt optional
queue: priority_queue queue
set: multiset set
shared_mutex: shared_lock shared_mutex
span: span
string: basic_string getline stoi stoul string to_string
string_view: basic_string_view string_view
system_error: error_code system_error
thread: jthread this_thread thread
tuple utility memory: apply tie tuple
type_traits utility memory functional optional variant atomic vector string: conditional_t decay_t enable_if_t
    invoke_result_t is_base_of_v is_integral_v is_invocable_v is_same_v is_trivially_copyable_v remove_cvref_t
unordered_map: unordered_map
unordered_set: unordered_set
utility: as_const cmp_less exchange forward in_range index_sequence make_pair pair
utility memory algorithm vector string map: move
variant: get_if holds_alternative monostate variant visit
vector: vector
"""


def standard_names():
    """{name: the headers of which one suffices}."""
    found = {}
    for line in STANDARD.replace("\n    ", " ").strip().split("\n"):
        headers, _, names = line.partition(": ")
        found |= dict.fromkeys(names.split(), set(headers.split()))
    return found


def is_for_tests(path):
    return re.search(r"_(test|fuzz)$", path.stem) is not None or "testing" in path.parts


class Tree:
    """The product's files, and what each includes and declares."""

    def __init__(self):
        paths = [path for path in SOURCES.rglob("*") if path.suffix in (".h", ".cc", ".def")]
        self.text = {path: path.read_text() for path in paths}
        self.code = {path: COMMENT_OR_TEXT.sub("", text) for path, text in self.text.items()}
        self.rooms_of_servers = [path for path in SOURCES.glob("engine/m*/**/*.h")]
        self.includes = {path: self.included_by(path) for path in paths}
        self.types = {path: set(ANY_TYPE.findall(code)) for path, code in self.code.items()}
        self.functions = {path: set(ANY_FUNCTION.findall(code)) for path, code in self.code.items()}
        self.standard = {path: set(STANDARD_HEADER.findall(text)) for path, text in self.text.items()}
        self.declared_in = collections.defaultdict(set)
        for path in paths:
            if path.suffix == ".h":
                for names in (*TYPE.findall(self.code[path]), *FUNCTION.findall(self.code[path])):
                    self.declared_in[names if isinstance(names, str) else "".join(names)].add(path)

    def included_by(self, path):
        found = []
        for name in INCLUDE.findall(self.text[path]):
            if name.startswith("engine/server/"):  # of whichever server the part is compiled for
                found += [header for header in self.rooms_of_servers if header.name == name.rpartition("/")[2]]
            else:
                found.append(next((one for one in (SOURCES / name, path.parent / name) if one in self.text), None))
        return [one for one in found if one]

    def seen_by(self, path):
        """The file with everything of ours that it includes, directly or not."""
        seen, to_do = set(), [path]
        while to_do:
            one = to_do.pop()
            if one not in seen:
                seen.add(one)
                to_do += self.includes[one]
        return seen


def missing_of_ours(tree, path, seen, seen_beside):
    """(name, a header that declares it) for what the source names, and only its neighbours' includes declare."""
    hidden = {
        name: headers for name, headers in tree.declared_in.items() if headers & seen_beside and not headers & seen
    }
    named = {word for word in WORD.findall(tree.code[path]) if word[0].isupper()} | set(CALL.findall(tree.code[path]))
    known = set().union(*(tree.types[one] | tree.functions[one] for one in seen))
    return [(name, min(hidden[name]).relative_to(SOURCES)) for name in sorted(named & hidden.keys() - known)]


def missing_of_standard(tree, path, seen, names):
    included = set().union(*(tree.standard[one] for one in seen))
    used = names.keys() & STANDARD_NAME.findall(tree.code[path])
    return [(f"std::{name}", " or ".join(sorted(names[name]))) for name in sorted(used) if not names[name] & included]


def main():
    tree, names = Tree(), standard_names()
    product = [path for path in sorted(tree.text) if path.suffix != ".def" and not is_for_tests(path)]
    seen = {path: tree.seen_by(path) for path in product}
    rooms = collections.defaultdict(set)
    for path in product:
        rooms[path.parent] |= seen[path] if path.suffix == ".cc" else set()
    found = []
    for path in product:
        missing = missing_of_ours(tree, path, seen[path], rooms[path.parent])
        for name, header in missing + missing_of_standard(tree, path, seen[path], names):
            found.append(f"{path.relative_to(SOURCES.parent)}: {name} is declared by {header}")
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
