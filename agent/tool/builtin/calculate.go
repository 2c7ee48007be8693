package builtin

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode"
)

// Bounds of what is calculated, so that no expression keeps the server busy.
const (
	maxExpression = 1000
	maxDepth      = 100
	maxExponent   = 1000
	maxBits       = 20_000
	// digits behind the point of a result that has no end.
	digits = 12
)

// Calculate returns the value of an expression as a decimal number; fractions that
// have no end are rounded to 12 digits behind the point. Operators, from weak to strong: + -,
// * / %, sign, ^ (from the right). Errors say what is wrong and where.
func Calculate(expression string) (string, error) {
	if len(expression) > maxExpression {
		return "", fmt.Errorf("the expression has more than %d characters", maxExpression)
	}
	p := &calculation{text: []rune(expression)}
	v, err := p.sum(0)
	if err != nil {
		return "", err
	}
	if p.skip(); p.at < len(p.text) {
		return "", p.errorf("unexpected %q", p.text[p.at])
	}
	return decimal(v), nil
}

// decimal is a number as people write it.
func decimal(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	return strings.TrimSuffix(strings.TrimRight(v.FloatString(digits), "0"), ".")
}

// calculation is a text that is read from left to right.
type calculation struct {
	text []rune
	at   int
}

func (p *calculation) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at character %d", fmt.Sprintf(format, args...), p.at+1)
}

func (p *calculation) skip() {
	for p.at < len(p.text) && unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
}

// accept reads one of the characters, if it is the next one.
func (p *calculation) accept(any string) (rune, bool) {
	if p.skip(); p.at < len(p.text) && strings.ContainsRune(any, p.text[p.at]) {
		p.at++
		return p.text[p.at-1], true
	}
	return 0, false
}

func (p *calculation) sum(depth int) (*big.Rat, error) {
	if depth > maxDepth {
		return nil, errors.New("the expression is nested too deeply")
	}
	return p.chain("+-", depth, p.product)
}

func (p *calculation) product(depth int) (*big.Rat, error) {
	return p.chain("*/%×÷", depth, p.signed)
}

// chain reads operands with operators of one strength between them.
func (p *calculation) chain(operators string, depth int, operand func(int) (*big.Rat, error)) (*big.Rat, error) {
	v, err := operand(depth)
	for err == nil {
		operator, ok := p.accept(operators)
		if !ok {
			return v, nil
		}
		var w *big.Rat
		if w, err = operand(depth); err == nil {
			v, err = p.apply(operator, v, w)
		}
	}
	return nil, err
}

func (p *calculation) apply(operator rune, v, w *big.Rat) (*big.Rat, error) {
	result := new(big.Rat)
	switch operator {
	case '+':
		result.Add(v, w)
	case '-':
		result.Sub(v, w)
	case '*', '×':
		result.Mul(v, w)
	case '/', '÷', '%':
		if w.Sign() == 0 {
			return nil, p.errorf("division by zero")
		}
		if result.Quo(v, w); operator == '%' {
			whole := new(big.Rat).SetInt(floor(result))
			result.Sub(v, whole.Mul(whole, w))
		}
	}
	return p.bounded(result)
}

func (p *calculation) bounded(v *big.Rat) (*big.Rat, error) {
	if v.Num().BitLen() > maxBits || v.Denom().BitLen() > maxBits {
		return nil, p.errorf("the number becomes too large")
	}
	return v, nil
}

func (p *calculation) signed(depth int) (*big.Rat, error) {
	if depth > maxDepth {
		return nil, errors.New("the expression is nested too deeply")
	}
	sign, ok := p.accept("+-")
	if !ok {
		return p.power(depth)
	}
	v, err := p.signed(depth + 1)
	if err == nil && sign == '-' {
		v = new(big.Rat).Neg(v)
	}
	return v, err
}

func (p *calculation) power(depth int) (*big.Rat, error) {
	v, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	if _, ok := p.accept("^"); !ok {
		return v, nil
	}
	w, err := p.signed(depth + 1)
	if err != nil {
		return nil, err
	}
	if !w.IsInt() || !w.Num().IsInt64() || w.Num().Int64() > maxExponent || w.Num().Int64() < -maxExponent {
		return nil, p.errorf("an exponent is a whole number up to %d", maxExponent)
	}
	n := w.Num().Int64()
	if n < 0 {
		if v.Sign() == 0 {
			return nil, p.errorf("division by zero")
		}
		v, n = new(big.Rat).Inv(v), -n
	}
	if int64(max(v.Num().BitLen(), v.Denom().BitLen()))*n > maxBits {
		return nil, p.errorf("the number becomes too large")
	}
	e := big.NewInt(n)
	return new(big.Rat).SetFrac(new(big.Int).Exp(v.Num(), e, nil), new(big.Int).Exp(v.Denom(), e, nil)), nil
}

func (p *calculation) operand(depth int) (*big.Rat, error) {
	if _, ok := p.accept("("); ok {
		v, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, ok := p.accept(")"); !ok {
			return nil, p.errorf("missing )")
		}
		return v, nil
	}
	if p.at == len(p.text) {
		return nil, p.errorf("the expression ends where a number is missing,")
	}
	begin := p.at
	if unicode.IsLetter(p.text[p.at]) {
		for p.at < len(p.text) && unicode.IsLetter(p.text[p.at]) {
			p.at++
		}
		return p.call(strings.ToLower(string(p.text[begin:p.at])), depth)
	}
	for p.at < len(p.text) && (unicode.IsDigit(p.text[p.at]) || p.text[p.at] == '.' || p.text[p.at] == '_') {
		p.at++
	}
	v, ok := new(big.Rat).SetString(strings.ReplaceAll(string(p.text[begin:p.at]), "_", ""))
	if !ok {
		p.at = begin
		return nil, p.errorf("a number is missing")
	}
	return v, nil
}
