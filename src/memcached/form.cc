#include "memcached/form.h"

#include "memcached/meta_form.h"
#include "memcached/text_form.h"

namespace postern::memcached {
namespace {

constexpr TextForm text_form;
constexpr MetaForm meta_form;

}  // namespace

const Form &form_of(Dialect dialect) {
  return dialect == Dialect::meta ? static_cast<const Form &>(meta_form) : text_form;
}

}  // namespace postern::memcached
