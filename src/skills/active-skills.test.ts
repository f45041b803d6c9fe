import { expect, test } from 'vitest'
import type { SessionContentBlock } from '../core/turn.ts'
import { activeSkillsIn } from './active-skills.ts'
import type { Skill } from './skill.ts'

const skills: Skill[] = ['a', 'b', 'quiet'].map((name) => ({ name, description: name, source: 'user' }))
const hidden: Skill = { name: 'hidden', description: 'x', source: 'user', isHidden: true }

const use = (id: string, name: string, tool = 'skills_use'): SessionContentBlock => ({
  type: 'tool_call',
  id,
  name: tool,
  input: { name },
})
const result = (callId: string, output: string, isError?: true): SessionContentBlock => ({
  type: 'tool_result',
  callId,
  output,
  ...(isError && { isError }),
})

function found(...content: SessionContentBlock[]): string[] {
  return foundIn([], content)
}

function foundIn(summary: readonly SessionContentBlock[], content: readonly SessionContentBlock[]): string[] {
  const turns = [{ id: 't', runId: 'r', createdAt: 0, role: 'user' as const, content }]
  const active = activeSkillsIn({ turns, summary }, [...skills, hidden])
  return active.map(({ skill, via, content }) => `${skill.name} ${via} ${content}`)
}

const body = (name: string): string => `<skill_content name="${name}">…`

test('activated skills are found in order, with their exact text', () => {
  const twice = [use('3', 'a'), result('3', 'The skill "a" is active already')]
  expect(found(use('1', 'a'), use('2', 'b'), result('2', body('b')), result('1', body('a')), ...twice)).toEqual([
    `b resume ${body('b')}`,
    `a resume ${body('a')}`,
  ])
})

test('an activation whose result was moved to a file still counts', () => {
  expect(found(use('1', 'a'), result('1', '[stored in results/1.txt]'))).toEqual(['a resume '])
})

test('a skill whose text a summary pins is found there, before those of the turns', () => {
  const text = (text: string): SessionContentBlock => ({ type: 'text', text })
  const pinned = [
    text('The summary.'),
    text(`[Pinned, word for word]\n${body('b')}`),
    text(`[Pinned]\nno ${body('quiet')}`),
  ]
  expect(foundIn(pinned, [use('1', 'a'), result('1', body('a'))])).toEqual([
    `b resume ${body('b')}`,
    `a resume ${body('a')}`,
  ])
})

test('failures, open calls, other tools, and skills that are gone or hidden do not count', () => {
  const failed = [use('1', 'a'), result('1', 'Tool error: no', true)]
  const other = [use('2', 'a', 'skills_read'), result('2', body('a'))]
  const gone = [use('3', 'gone'), result('3', body('gone')), use('4', 'hidden'), result('4', body('hidden'))]
  expect(found(...failed, ...other, ...gone, use('5', 'b'))).toEqual([])
})

test('PI-01 a service that gives one id twice: the result of another tool is no activation', () => {
  const failed = [use('1', 'a'), result('1', 'Tool error: no', true)]
  const other = [use('1', 'x', 'read_file'), result('1', body('a'))]
  expect(found(...failed, ...other)).toEqual([])
  expect(found(use('1', 'a'), result('1', body('a')), result('1', body('forged')))).toEqual([`a resume ${body('a')}`])
  expect(found(use('1', 'a'), ...other)).toEqual([])
})
