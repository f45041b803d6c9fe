import { readFileSync } from 'node:fs'
import { forEachChild, parse, type SyntaxNode } from 'unbash'
import { expect, test } from 'vitest'
import { constructs } from './constructs.ts'
import { readShell } from './read-shell.ts'

/** Every kind of node at least once, with a command in each place where one may hide. */
const samples = [
  'c1 x; ! c2 && time -p c3 || c4 | c5 |& c6 &',
  `a1=$(c1) a2+=$(c2) a3[$(c3)]=4 a5=(x $(c4) [$(c5)]=y) c6`,
  `c1 'a' "b $(c2)" $'c' $"d $(c3)" $e \`c4\` *$(c5)? [a$(c6)b] ~`,
  `c1 \${a} \${#a} \${!a} \${a[$(c2)]} \${!a@} \${!a*}`,
  `c1 \${a:-$(c2)} \${a=$(c3)} \${a#$(c4)} \${a%%$(c5)} \${a/$(c6)/$(c7)} \${a:$(c8):$(c9)} \${a^$(c10)} \${a@P}`,
  `c1 $((1 + $(c2))) $((-\`c3\`)) $((1 ? $(c4) : $(c5))) $(( (a[$(c6)]) )) $[$(c7)]`,
  'c1 <(c2) >(c3) @(a|$(c4)) {a,$(c5)} a{1..$(c6)}',
  'c1 > $(c2) 2>> "$(c3)" {fd}< $(c4) <<< $(c5)',
  `c1 << E << 'F'\n$(c2) \`c3\` \${a:-$(c4)} $((1+$(c5)))\nE\n$(no)\nF`,
  'if c1; then c2; elif c3; then c4; else c5; fi > $(c6)',
  'for a in $(c1); do c2; done; select b in $(c3); do c4; done',
  'for ((i=$(c1); i<$(c2); i+=$(c3))); do c4; done',
  'while c1; do c2; done; until c3; do c4; done',
  'case $(c1) in $(c2)|b) c3;; *) c4;& esac',
  'f() { c1; }; function g { c2; }; function h() (c3) > $(c4)',
  'coproc c1; coproc NAME { c2; }',
  '(c1; (c2)); { c3; }',
  '[[ -f $(c1) && ! ( $(c2) == $(c3) || a =~ $(c4) ) ]]; ((a[$(c5)] = $(c6)))',
  'declare -a a=($(c1)) b=$(c2) c; export d=`c3`',
  'c1 "`c2 \\`c3\\``"',
]

test('every kind of node the parser has is among the samples, and nothing in any of them is skipped', () => {
  const seen = new Set<string>()
  const collect = (node: SyntaxNode): void => {
    seen.add(node.type)
    forEachChild(node, collect)
  }
  for (const sample of samples) {
    collect(parse(sample))
    const { isWhole, commands, obstacles } = readShell(sample)
    const hidden = new Set(sample.match(/\bc\d+\b/g))
    for (const { words } of commands) hidden.delete(words[0] ?? '')
    expect({ sample, isWhole, hidden: [...hidden] }).toEqual({ sample, isWhole: true, hidden: [] })
    expect(obstacles).not.toEqual([])
  }
  // Only made by substitutions inside arithmetic that the parser reads as words, and by expansions it does not know.
  const rare = ['ArithmeticCommandExpansion', 'Unknown']
  expect(Object.keys(constructs).filter((type) => !seen.has(type) && !rare.includes(type))).toEqual([])
})

test("the table of kinds is the parser's own union, read from its types", () => {
  const types = readFileSync(new URL(import.meta.resolve('unbash').replace(/parser\.js$/, 'types.d.ts')), 'utf8')
  const named = new Set([...types.matchAll(/readonly type: "(\w+)"/g)].map(([, type]) => type!))
  expect(Object.keys(constructs).sort()).toEqual([...named].sort())
})

test('an expansion that the parser does not know makes a line not whole', () => {
  const { isWhole, words } = readShell(`echo \${a;$(touch x)}`)
  expect(isWhole).toBe(false)
  expect(words).toContain('touch')
})
