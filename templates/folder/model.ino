// SPDX-License-Identifier: 0BSD
// Runs the model once on made-up inputs, and says whether it gives what it should.
#include <model.h>
#include <model_golden.h>

void setup()
{
    Serial.begin(115200);
    const int status = model_golden();
    Serial.print("model_name: ");
    Serial.println(status ? "WRONG" : "right");
}

void loop()
{
}
