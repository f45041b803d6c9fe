import { expect, test } from 'vitest'
import { ruleTypos } from './rule-typos.ts'

const tools = ['shell', 'read_file', 'edit']

test('a rule with a misspelled tool is reported once, with the right name', () => {
  expect(ruleTypos(['shel:npm test', { rule: 'shel:npm test', why: 'x' }], tools)).toEqual([
    'The rule "shel:npm test" matches no tool, did you mean "shell"?',
  ])
})

test('rules about known tools and effects, or about very different names, are not reported', () => {
  expect(ruleTypos(['shell', 'shell:rm *', 'net', 'fs.write:src/**', 'mcp:git.*', 'deploy_everything'], tools)).toEqual(
    [],
  )
})
