package core

// The built-in tool finish ends the run with an output. It is looked at when every other call of
// its turn is settled, and accepted if the gate allows it and what it says is true; any other is
// refused, and the model goes on.

// FinishTool is the name of the built-in tool that ends a run.
const FinishTool = "finish"
