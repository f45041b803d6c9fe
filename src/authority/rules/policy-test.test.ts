import { expect, test } from 'vitest'
import { command, line } from '../../../test/authority/call-kit.ts'
import type { ShellFacts } from '../judged-call.ts'
import { describeFailure, testPolicy } from './load-settings.ts'

const facts = (text: string): ShellFacts => line(text.split(' && ').map((one) => command(one))).shell!

test('rules that keep their promises have no failures', async () => {
  const failures = await testPolicy(
    {
      deny: [
        {
          rule: 'shell:git push',
          match: ['git -C x push', 'ls && git push'],
          notMatch: ['git log', 'git commit -m push'],
        },
        { rule: 'fs.write:secrets/*', match: ['secrets/a', 'Secrets/A'], notMatch: ['src/secrets/a'] },
        { rule: 'mcp:github.*', match: ['github.search', 'mcp:github.x'], notMatch: ['gitlab.search'] },
        'net',
      ],
      allow: [
        { rule: 'shell:git log', match: ['git log -5'], notMatch: ['git logout', 'git log && ls'] },
        { rule: 'exec', match: ['ls'] },
      ],
      allowlist: [{ rule: 'fetch:*.example.org', match: ['a.example.org'], notMatch: ['example.org'] }],
    },
    facts,
  )
  expect(failures).toEqual([])
})

test('each broken promise is named', async () => {
  const failures = await testPolicy(
    { ask: ['net', { rule: 'shell:ls', match: ['cat x'], notMatch: ['ls -l'] }] },
    facts,
  )
  expect(failures.map(describeFailure)).toEqual([
    'the ask rule "shell:ls": its example "cat x" should match, and does not',
    'the ask rule "shell:ls": its example "ls -l" should not match, and does',
  ])
})
