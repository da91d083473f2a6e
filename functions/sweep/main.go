// Command sweep is the Lambda function that finds due runs and sends wake-ups for them, once a
// minute. It recovers from lost wake-ups and crashed owners, and applies deadlines.
package main

import "github.com/dormouse-dev/dormouse/lambdasweep"

func main() { lambdasweep.Main() }
