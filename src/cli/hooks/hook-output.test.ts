import { expect, test } from 'vitest'
import { type HookAnswer, readHookOutput } from './hook-output.ts'

const json = (value: object): string => JSON.stringify(value)

test.each<[number | null, string, string, HookAnswer]>([
  [0, '', '', {}],
  [0, 'fine', '', {}],
  [2, 'ignored', ' no rm here \n', { block: 'no rm here' }],
  [2, '', '', { block: 'the hook gave no reason' }],
  [0, json({ decision: 'block', reason: 'not now' }), '', { block: 'not now' }],
  [0, json({ continue: false, stopReason: 'enough' }), '', { block: 'enough' }],
  [
    0,
    json({ hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'no' } }),
    '',
    { block: 'no' },
  ],
  [0, json({ hookSpecificOutput: { permissionDecision: 'ask', permissionDecisionReason: 'hm' } }), '', { block: 'hm' }],
  [
    0,
    json({ hookSpecificOutput: { permissionDecision: 'allow', additionalContext: 'use tabs' } }),
    '',
    { words: 'use tabs' },
  ],
  [0, json({ decision: 'approve' }), '', {}],
])('DR08 a hook that ends with %s, says %j and complains %j decides %j', (exitCode, stdout, stderr, wanted) => {
  expect(readHookOutput({ exitCode, stdout, stderr })).toEqual(wanted)
})

test('DR08 every other end is a failure', () => {
  const failed = (end: Partial<Parameters<typeof readHookOutput>[0]>): HookAnswer =>
    readHookOutput({ exitCode: 0, stdout: '', stderr: '', ...end })
  expect(failed({ exitCode: 1, stderr: 'jq: not found' })).toEqual({
    block: 'it ended with exit code 1: jq: not found',
    isFailure: true,
  })
  expect(failed({ exitCode: null, timedOut: true })).toEqual({ block: 'it took too long', isFailure: true })
  expect(failed({ stdout: '{ not json' })).toMatchObject({ isFailure: true })
})

test('DR08 text at a prompt is added, and what hooks say is bounded', () => {
  expect(readHookOutput({ exitCode: 0, stdout: ' The branch is main.\n', stderr: '' }, { takesText: true })).toEqual({
    words: 'The branch is main.',
  })
  const { block = '' } = readHookOutput({ exitCode: 2, stdout: '', stderr: 'x'.repeat(100_000) })
  expect(block.length).toBeLessThanOrEqual(10_100)
})
