import { expect, test } from 'vitest'
import { checkInteraction } from './interaction-kinds.ts'

/** One whole question of each kind. */
const whole: Record<string, Record<string, unknown>> = {
  Ask: { prompt: 'Which?' },
  Approve: { toolId: 'shell', approvalKey: 'npm test', description: 'npm test' },
  Select: { prompt: 'Which?', options: ['a', { label: 'b' }] },
  Confirm: { prompt: 'Sure?' },
  'Auth.DeviceCode': { url: 'https://x.test', code: 'AB-12', expiresAt: 1_000 },
  'Auth.Password': { prompt: 'Password' },
  grantStageTool: { toolId: 'deploy', stageExecutionId: 's-1', argsDigest: 'abc' },
  trustProject: { path: '/work', summary: 'two tools' },
}
const kinds = Object.keys(whole)
const everyField = kinds.flatMap((kind) =>
  ['kind', ...Object.keys(whole[kind]!)].map((field) => [kind, field] as const),
)

test.each(kinds)('B040 a complete question of kind %s is accepted, also with more fields', (kind) => {
  const request = { kind, payload: { kind, ...whole[kind], more: { callId: 'c-1' } } }
  const checked = checkInteraction(request)
  expect(checked).toEqual(request)
  expect(checked.payload.more).not.toBe(request.payload.more)
})

test.each(everyField)('B040 a question of kind %s needs its %s, and of the right type', (kind, field) => {
  const mismatch = expect.objectContaining({ class: 'Validation', code: 'InteractionPayloadMismatch' })
  const payload: Record<string, unknown> = { kind, ...whole[kind] }
  for (const wrong of [undefined, null, 7n, {}, Number.NaN, field === 'kind' ? 'Other' : true]) {
    const request = { kind, payload: { ...payload, [field]: wrong } }
    expect(() => checkInteraction(request)).toThrow(mismatch)
    expect(() => checkInteraction(request)).toThrow(`payload.${field} of a question of kind ${kind} must be`)
  }
  const { [field]: _, ...without } = payload
  expect(() => checkInteraction({ kind, payload: without })).toThrow(mismatch)
})

test.each(['approve', 'Auth', '', 'constructor', '__proto__', undefined, 7])('B040 %j is no kind', (kind) => {
  const unknown = expect.objectContaining({ class: 'Validation', code: 'InteractionKindUnknown' })
  expect(() => checkInteraction({ kind: kind as string, payload: { kind } })).toThrow(unknown)
})

test.each([undefined, null, 'Ask'])('B040 %j is no payload', (payload) => {
  expect(() => checkInteraction({ kind: 'Ask', payload: payload as never })).toThrow(
    'payload of a question of kind Ask',
  )
})
