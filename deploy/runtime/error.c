#include "deploy/runtime/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "deploy/runtime/temper.h"

static _Thread_local char message[1024];

int temper_set_error(const char* format, ...) {
  char text[sizeof message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(message, text, sizeof message);
  return -1;
}

const char* temper_error(void) { return message; }
