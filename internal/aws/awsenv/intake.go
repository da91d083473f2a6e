package awsenv

import (
	"errors"
	"io"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

// Intake has the parts of the function that starts the runs of the intake queue.
type Intake struct {
	parts
	Frontend *frontend.Frontend // starts them
	Queue    *sqsqueue.Intake
}

// NewIntake assembles the parts. The function describes agents and runs nothing. Log lines and
// metrics go to out. It makes no network request.
func NewIntake(s Settings, register Register, out io.Writer) (Intake, error) {
	p, err := open(s, register, nil, out)
	if s.Intake.ARN == "" {
		err = errors.Join(err, errors.New("DORMOUSE_INTAKE_QUEUE_ARN is missing; set it to the ARN of the intake queue"))
	}
	return Intake{parts: p, Frontend: p.NewFrontend(), Queue: sqsqueue.NewIntake(s.SQS(), s.Intake.URL, s.Intake.DeadURL, s.Intake.Tenant)}, err
}
