import fc from 'fast-check'
import { expect, test } from 'vitest'
import { command, judged, line, underLayers } from '../../test/authority/call-kit.ts'
import { rounds } from '../../test/soak.ts'
import type { Effect } from '../core/authority.ts'
import { type DecisionContext, decide } from './decide.ts'
import type { CommandFacts, EffectFact, JudgedCall } from './judged-call.ts'
import type { AuthoritySettings, SettingsLayers } from './rules/settings.ts'

const looseness = { deny: 0, ask: 1, allow: 2 }
const looseOf = (call: JudgedCall, context: DecisionContext): number => looseness[decide(call, context).verdict]

const targets = ['src/a', 'src/b/c', '.env', '.git/config', '/etc/passwd', 'host.example']
const facts: fc.Arbitrary<EffectFact> = fc.record(
  {
    effect: fc.constantFrom<Effect>(
      'fs.read',
      'fs.write',
      'exec',
      'net',
      'spawn',
      'schedule.write',
      'ask',
      'unknown',
      'mcp:a.b',
    ),
    target: fc.constantFrom(...targets),
    isOutside: fc.boolean(),
  },
  { requiredKeys: ['effect'] },
)
const commands: fc.Arbitrary<CommandFacts> = fc
  .record({
    text: fc.constantFrom(
      'ls',
      'ls src',
      'git log',
      'git push',
      'git -C x push',
      'curl x',
      '/bin/curl',
      'make all',
      'cd src',
    ),
    table: fc.constantFrom('neutral', 'passes', 'refuses', 'none'),
    effects: fc.array(facts, { maxLength: 2 }),
    isReadOnly: fc.boolean(),
    mayRemember: fc.boolean(),
    isNested: fc.boolean(),
  })
  .map(({ text, ...rest }) => command(text, rest))
const lines = fc
  .record({
    commands: fc.array(commands, { minLength: 1, maxLength: 3 }),
    obstacles: fc.constantFrom([], [], ['a substitution']),
    isWhole: fc.constantFrom(true, true, false),
  })
  .map(({ commands: all, ...rest }) => line(all, { ...rest, words: ['curl'] }))
const calls = fc.oneof(
  lines,
  fc
    .record({
      tool: fc.constantFrom('read_file', 'write_file', 'spawn', 'other'),
      key: fc.constantFrom('.', 'src', 'x'),
      effects: fc.array(facts, { maxLength: 3 }),
    })
    .map(({ tool, ...rest }) => judged(tool, rest)),
)

const changedCalls = fc
  .record({
    effects: fc.array(facts, { maxLength: 2 }),
    key: fc.constantFrom('.', 'x'),
    origin: fc.record(
      {
        layer: fc.constantFrom('mcp' as const, 'project' as const, 'global' as const),
        path: fc.constant('a'),
        digest: fc.constant('new'),
        isChanged: fc.constant(true),
      },
      { requiredKeys: ['layer', 'isChanged'] },
    ),
  })
  .map(({ effects, ...rest }) => judged('other', { ...rest, effects: [{ effect: 'mcp:a.b' }, ...effects] }))

const entries = fc.constantFrom(
  ...[
    'shell',
    'shell:ls',
    'shell:git *',
    'shell:git push',
    'shell:*',
    'shell:curl',
    'shell:make all',
    'exec',
    'exec:ls',
  ],
  ...[
    'fs.read',
    'fs.read:src/*',
    'fs.write',
    'fs.write:*',
    'net',
    'net:*.example',
    'mcp:*',
    'mcp:a.b',
    'spawn',
    'unknown',
  ],
  ...['read_file', 'read_file:src', 'write_file:*', 'other'],
)
const lists = fc.array(entries, { maxLength: 4 })
const settings: fc.Arbitrary<AuthoritySettings> = fc.record(
  {
    mode: fc.constantFrom('plan', 'ask', 'allowlist', 'yolo'),
    allow: lists,
    ask: lists,
    deny: lists,
    workspaceReads: fc.constantFrom('allow', 'ask'),
    tools: fc.dictionary(
      fc.constantFrom('shell', 'read_file', 'other'),
      fc.record({ mode: fc.constantFrom('auto', 'confirm') }, { requiredKeys: [] }),
    ),
  },
  { requiredKeys: [] },
)
const around = fc.record(
  {
    grant: fc.constantFrom(
      () => ({ scope: 'session', grantedBy: 'user' }),
      () => undefined,
    ),
    stage: fc.constantFrom<NonNullable<DecisionContext['stage']>>(
      ...[
        { verdict: 'envelope' } as const,
        { verdict: 'token' } as const,
        { verdict: 'defer' } as const,
        { verdict: 'deny', code: 'c', why: 'w' } as const,
      ],
    ),
    patterns: fc.constantFrom({ allow: 'a' }, { deny: 'd' }, {}),
  },
  { requiredKeys: [] },
)
const layers: fc.Arbitrary<SettingsLayers> = fc.record(
  { bundled: settings, global: settings, launch: settings },
  { requiredKeys: [] },
)
const runs = { numRuns: rounds(500, 2000) }

test('an additional deny rule never loosens a decision', () => {
  fc.assert(
    fc.property(calls, settings, entries, around, (call, own, entry, rest) => {
      const before = looseOf(call, underLayers({ launch: own }, rest))
      const after = looseOf(call, underLayers({ launch: { ...own, deny: [...(own.deny ?? []), entry] } }, rest))
      expect(after).toBeLessThanOrEqual(before)
    }),
    runs,
  )
})

test('a line is never judged more loosely than any of its commands alone', () => {
  fc.assert(
    fc.property(lines, settings, (call, own) => {
      // Where every call is to be confirmed, `cd src` alone is covered by no rule, and needs none in a line that is.
      const context = underLayers({ launch: { ...own, tools: {} } })
      const { commands: all, ...rest } = call.shell!
      const whole = looseOf(call, context)
      for (const one of all) expect(whole).toBeLessThanOrEqual(looseOf(line([one], rest), context))
    }),
    runs,
  )
})

test('TR-05 no setting of a project loosens any decision', () => {
  fc.assert(
    fc.property(calls, layers, settings, around, (call, own, project, rest) => {
      const without = looseOf(call, underLayers(own, rest))
      expect(looseOf(call, underLayers({ ...own, project }, rest))).toBeLessThanOrEqual(without)
    }),
    runs,
  )
})

test('nothing is allowed that a deny rule of any layer names', () => {
  fc.assert(
    fc.property(calls, layers, around, (call, own, rest) => {
      const context = underLayers(
        { ...own, project: { deny: ['shell', 'read_file', 'write_file', 'spawn', 'other'] } },
        rest,
      )
      expect(decide(call, context)).toMatchObject({ verdict: 'deny', by: 'deny-rule' })
    }),
    { numRuns: 300 },
  )
})

test('PI-02 no setting allows a changed tool silently; only an approval of the new definition does', () => {
  fc.assert(
    fc.property(changedCalls, layers, around, (call, own, { grant, ...rest }) => {
      const unapproved = underLayers(own, rest)
      expect(decide(call, unapproved).verdict).not.toBe('allow')
      expect(decide(call, { ...unapproved, floor: 'deny' }).verdict).toBe('deny')
      const { verdict, by } = decide(call, { ...unapproved, ...(grant && { grant }) })
      if (verdict !== 'allow') return
      expect(by).toBe('grant')
      expect(call.origin.digest).toBe('new')
    }),
    runs,
  )
})

test('PI-02 a changed tool is never judged more loosely', () => {
  fc.assert(
    fc.property(changedCalls, layers, around, (call, own, rest) => {
      const context = underLayers(own, rest)
      const before = { ...call, origin: { ...call.origin, isChanged: false } }
      expect(looseOf(call, context)).toBeLessThanOrEqual(looseOf(before, context))
    }),
    runs,
  )
})
