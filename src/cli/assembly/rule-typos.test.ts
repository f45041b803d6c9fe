import { expect, test } from 'vitest'
import { ruleTypos } from './rule-typos.ts'

const tools = ['shell', 'read_file', 'edit']

test('a rule about a tool that is nearly one of those here is named once, with the right name', () => {
  expect(ruleTypos(['shel:npm test', { rule: 'shel:npm test', why: 'x' }], tools)).toEqual([
    'The rule "shel:npm test" is about no tool that is here, did you mean "shell"?',
  ])
})

test('rules about tools and effects that there are, or about quite other names, are left alone', () => {
  expect(ruleTypos(['shell', 'shell:rm *', 'net', 'fs.write:src/**', 'mcp:git.*', 'deploy_everything'], tools)).toEqual(
    [],
  )
})
