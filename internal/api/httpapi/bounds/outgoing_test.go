package bounds

import "testing"

func TestLargeAnswersAreBoundedForAllAndForEachTenant(t *testing.T) {
	o := NewOutgoing()
	small, ok := o.Take("acme", SmallAnswer)
	if !ok || o.all != 0 {
		t.Fatal("a small answer is counted")
	}
	huge, ok := o.Take("acme", 3*allAnswers)
	if !ok {
		t.Fatal("one that is larger than all may be is never sent")
	}
	if _, ok := o.Take("zoo", SmallAnswer+1); ok {
		t.Error("another one beside it")
	}
	huge()
	var taken []func()
	for {
		done, ok := o.Take("acme", tenantAnswers/4)
		if !ok {
			break
		}
		taken = append(taken, done)
	}
	if len(taken) != 4 {
		t.Errorf("a tenant has %d answers on their way", len(taken))
	}
	if _, ok := o.Take("zoo", tenantAnswers); !ok {
		t.Error("another tenant finds no room")
	} else {
		o.taken("zoo", tenantAnswers)
	}
	small()
	for _, done := range taken {
		done()
	}
	if o.all != 0 || len(o.tenant) != 0 {
		t.Errorf("%d bytes are left, %v", o.all, o.tenant)
	}
}
