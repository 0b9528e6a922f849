/* SPDX-License-Identifier: Apache-2.0
 * Every constant of the model as it was read, wherever it hides: initializers of all graphs,
 * attributes of all nodes. */
#ifndef INLAY_CLI_INITIALIZERS_H
#define INLAY_CLI_INITIALIZERS_H

#include "compile.h"

/* dump --initializers: a line each, tab-separated. No payload is read. */
void initializers_print(Compile *compile);
/* SHA-256 of the model file, and of the external files after it, each once, in the order in which
 * the model names them. */
void model_hash(Compile *compile, char hex[65]);

#endif
