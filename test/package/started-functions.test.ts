import { Script } from 'node:vm'
import { expect, test } from 'vitest'
import { inParentheses } from '../../scripts/started-functions.ts'

const code = `const late = twice(2);
function twice(n) {
	return [n].map((one) => one * 2)[0];
}
async function* never() {
	yield await Promise.resolve(1);
}
const add = async (a, b = () => 1) => a + b();
var seen = [late, twice.name, add.name, twice(21)];`

const compiledBytes = (text: string): number => new Script(text).createCachedData().length

test('a function that a run calls is compiled with its file, keeps its name, and is there before what calls it', () => {
  const starts = ['function twice', '(one)', 'async (a'].map((text) => code.indexOf(text))
  const marked = inParentheses(code, new Set(starts))
  expect(marked).toContain('var twice = (function twice(n) {')
  expect(marked).toContain('\nasync function* never() {')
  expect(new Script(`${marked}; seen`).runInNewContext()).toEqual([4, 'twice', 'add', 42])
  expect(compiledBytes(marked)).toBeGreaterThan(compiledBytes(code) + 200)
  expect(inParentheses(code, new Set())).toBe(code)
})
