package builtin

import (
	"math/big"
)

// function is a function of an expression, with the least and greatest number of its arguments.
type function struct {
	least, most int
	call        func(p *calculation, args []*big.Rat) (*big.Rat, error)
}

var functions = map[string]function{
	"abs":   {1, 1, func(_ *calculation, a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Abs(a[0]), nil }},
	"ceil":  {1, 1, func(_ *calculation, a []*big.Rat) (*big.Rat, error) { return ceil(a[0]), nil }},
	"floor": {1, 1, func(_ *calculation, a []*big.Rat) (*big.Rat, error) { return new(big.Rat).SetInt(floor(a[0])), nil }},
	"max":   {1, 100, extreme(1)},
	"min":   {1, 100, extreme(-1)},
	"round": {1, 2, round},
	"sqrt":  {1, 1, root},
}

// call reads the arguments of a function and calls it.
func (p *calculation) call(name string, depth int) (*big.Rat, error) {
	f, ok := functions[name]
	if !ok {
		return nil, p.errorf("unknown function %q", name)
	}
	if _, ok := p.accept("("); !ok {
		return nil, p.errorf("missing ( behind %s", name)
	}
	var args []*big.Rat
	for {
		v, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if _, ok := p.accept(",;"); !ok {
			break
		}
	}
	if _, ok := p.accept(")"); !ok {
		return nil, p.errorf("missing )")
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, p.errorf("%s takes %d to %d numbers, not %d", name, f.least, f.most, len(args))
	}
	return f.call(p, args)
}

func floor(v *big.Rat) *big.Int {
	q, r := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	if r.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
	}
	return q
}

func ceil(v *big.Rat) *big.Rat {
	down := new(big.Rat).SetInt(floor(new(big.Rat).Neg(v)))
	return down.Neg(down)
}

// extreme is the largest (1) or smallest (-1) of its arguments.
func extreme(sign int) func(*calculation, []*big.Rat) (*big.Rat, error) {
	return func(_ *calculation, args []*big.Rat) (*big.Rat, error) {
		best := args[0]
		for _, v := range args[1:] {
			if v.Cmp(best) == sign {
				best = v
			}
		}
		return best, nil
	}
}

// round rounds half away from zero, to a number of digits behind the point.
func round(p *calculation, args []*big.Rat) (*big.Rat, error) {
	n := int64(0)
	if len(args) == 2 {
		if !args[1].IsInt() || !args[1].Num().IsInt64() || args[1].Num().Int64() < 0 || args[1].Num().Int64() > 100 {
			return nil, p.errorf("digits are a whole number from 0 to 100")
		}
		n = args[1].Num().Int64()
	}
	v, ok := new(big.Rat).SetString(args[0].FloatString(int(n)))
	if !ok {
		return nil, p.errorf("can't round")
	}
	return v, nil
}

// root is exact for squares of fractions, else good for more digits than are shown.
func root(p *calculation, args []*big.Rat) (*big.Rat, error) {
	v := args[0]
	if v.Sign() < 0 {
		return nil, p.errorf("no root of a negative number")
	}
	num, denom := new(big.Int).Sqrt(v.Num()), new(big.Int).Sqrt(v.Denom())
	exact := new(big.Rat).SetFrac(num, denom)
	if new(big.Rat).Mul(exact, exact).Cmp(v) == 0 {
		return exact, nil
	}
	bits := uint(max(v.Num().BitLen(), v.Denom().BitLen()) + 128)
	f := new(big.Float).SetPrec(bits).SetRat(v)
	result, _ := f.Sqrt(f).Rat(nil)
	return p.bounded(result)
}
