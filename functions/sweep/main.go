// Command sweep is the function that finds what is due and sends wake-ups for it, on a schedule of
// a minute. It is the safety net of everything: a wake-up that was lost, an owner that died, a
// deadline that passed.
package main

import "github.com/dormouse-dev/dormouse/lambdasweep"

func main() { lambdasweep.Main() }
