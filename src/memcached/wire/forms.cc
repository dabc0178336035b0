#include "memcached/wire/forms.h"

namespace postern::memcached {
namespace {

constexpr TextForm text_form;
constexpr MetaForm meta_form;
constexpr BinaryForm binary_form;

}  // namespace

const Form &form_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::text: return text_form;
    case Dialect::meta: return meta_form;
    case Dialect::binary: return binary_form;
  }
  return text_form;
}

}  // namespace postern::memcached
