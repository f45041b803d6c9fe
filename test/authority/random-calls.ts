import fc from 'fast-check'
import type { DecisionContext } from '../../src/authority/decision-context.ts'
import type { CommandFacts, EffectFact } from '../../src/authority/judged-call.ts'
import type { AuthoritySettings, SettingsLayers } from '../../src/authority/rules/settings.ts'
import type { Effect } from '../../src/core/authority.ts'
import { command, judged, line } from './call-kit.ts'

const targets = [
  'src/a',
  'src/b/c',
  '.env',
  '.git/config',
  '/etc/passwd',
  '/srv/data',
  '/home/me/.ssh/id',
  'host.example',
]
/** What a call does, and to what. */
export const facts: fc.Arbitrary<EffectFact> = fc.record(
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
/** Calls of the shell tool. */
export const lines = fc
  .record({
    commands: fc.array(commands, { minLength: 1, maxLength: 3 }),
    obstacles: fc.constantFrom([], [], ['a substitution']),
    isWhole: fc.constantFrom(true, true, false),
  })
  .map(({ commands: all, ...rest }) => line(all, { ...rest, words: ['curl'] }))
/** Calls of any tool. */
export const calls = fc.oneof(
  lines,
  fc
    .record({
      tool: fc.constantFrom('read_file', 'write_file', 'spawn', 'other'),
      key: fc.constantFrom('.', 'src', 'x'),
      effects: fc.array(facts, { maxLength: 3 }),
    })
    .map(({ tool, ...rest }) => judged(tool, rest)),
)

/** Calls of a tool whose definition changed. */
export const changedCalls = fc
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

/** Rules. */
export const entries = fc.constantFrom(
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
    'fs.read:.env',
    'fs.read:/srv/*',
    'fs.write',
    'fs.write:*',
    'net',
    'net:*.example',
    'net:*',
    'mcp:*',
    'mcp:a.b',
    'spawn',
    'unknown',
  ],
  ...['read_file', 'read_file:src', 'write_file:*', 'other'],
)
const lists = fc.array(entries, { maxLength: 4 })
/** The settings of one layer. */
export const settings: fc.Arbitrary<AuthoritySettings> = fc.record(
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
/** What a decision depends on besides rules: grants, stages, patterns. */
export const around = fc.record(
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
/** Settings of the user and of the program. */
export const layers: fc.Arbitrary<SettingsLayers> = fc.record(
  { bundled: settings, global: settings, launch: settings },
  { requiredKeys: [] },
)
