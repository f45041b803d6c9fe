import { expect, test } from 'vitest'
import { baseEnv } from './base-env.ts'

test('what every program needs is taken over as it is', () => {
  const host = { PATH: '/usr/bin', HOME: '/home/me', LANG: 'C', LC_TIME: 'C', TERM: 'xterm', SystemRoot: 'C:\\Windows' }
  expect(baseEnv(host)).toEqual(host)
})

test('MC-12 keys, loaders and whatever looks like a secret stay out', () => {
  const key = `sk-ant-api03-${'aB3'.repeat(20)}`
  const host = { ANTHROPIC_API_KEY: key, NODE_OPTIONS: '--x', LD_PRELOAD: '/x', TZ: key, LC_TOKEN: 'x', FOO: 'bar' }
  expect(baseEnv(host)).toEqual({})
})
