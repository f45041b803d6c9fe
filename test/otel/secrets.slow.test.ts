import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ToolDef } from '../../src/core/tool.ts'
import { call, type Step } from '../../src/testing/index.ts'
import { rounds } from '../soak.ts'
import { look, secret, toldBy, traced, useContexts } from './otel-kit.ts'

useContexts()

const secrets = [
  secret,
  'ghp_0123456789abcdefghijABCDEFGHIJ012345',
  'AKIAABCDEFGHIJKLMNOP',
  'the-value-of-MY_DEPLOY_TOKEN-4711',
]

/** A text with a secret in it, perhaps beyond the cut. */
const texts = fc
  .tuple(fc.string({ maxLength: 40 }), fc.constantFrom(...secrets), fc.nat(8200))
  .map(([before, one, length]) => `${'x'.repeat(length)} ${before} ${one} end`)

const scenes = fc.record({
  prompt: texts,
  system: texts,
  argument: texts,
  result: texts,
  answer: texts,
  reason: texts,
  isThrown: fc.boolean(),
  isFatal: fc.boolean(),
  captureContent: fc.boolean(),
})

test('DR04 whatever is said, done or failed, no secret is in any span', async () => {
  await fc.assert(
    fc.asyncProperty(scenes, async (scene) => {
      const { prompt, system, argument, result, answer, reason, isThrown, isFatal, captureContent } = scene
      const told: ToolDef = {
        ...look,
        execute: async () => (isThrown ? Promise.reject(new Error(result)) : result),
      }
      const last: Step = isFatal
        ? new Error(reason)
        : [
            { type: 'retry', attempt: 2, reason, code: 'busy' },
            { type: 'reply', content: [{ type: 'text', text: answer }], usage: { input: 1, output: 1 }, stop: 'end' },
          ]
      const { spans } = await traced({
        script: [[call('1', 'look', { argument })], last],
        tools: { look: told },
        options: { captureContent, redact: { env: { MY_DEPLOY_TOKEN: secrets[3] } } },
        agent: { system },
        run: { prompt },
      })
      expect(spans.length).toBeGreaterThanOrEqual(4)
      const text = toldBy(spans)
      for (const one of secrets) expect(text).not.toContain(one)
    }),
    { numRuns: rounds(30, 1000) },
  )
})
