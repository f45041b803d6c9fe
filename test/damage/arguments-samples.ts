import type { JsonSchema } from '../../src/core/tool.ts'
import type { Random } from './random.ts'

/** Arguments as a model means them, and the schema of the tool that takes them. */
export interface Sample {
  readonly value: Record<string, unknown>
  readonly schema: JsonSchema
}

/** Arguments of one of several tools, with values that are hard to write. */
export function sample(random: Random): Sample {
  const { required = [], properties } = random.pick(tools)
  const value: Record<string, unknown> = {}
  for (const [name, make] of Object.entries(properties))
    if (required.includes(name) || random.chance(60)) value[name] = make.value(random)
  const types = Object.entries(properties).map(([name, { type }]) => [name, { type }])
  return { value, schema: { type: 'object', properties: Object.fromEntries(types), required } }
}

interface Property {
  readonly type: string
  readonly value: (random: Random) => unknown
}

const strings: readonly string[] = [
  ...['ls', 'src/core/loop.ts', 'main', 'README.md', 'fast', 'npm test', 'git status --short', 'a, b and c', ''],
  ...[
    'find . -name "*.ts" -exec rm {} \\;',
    'grep -rE "\\d+\\.\\w*" src',
    "sed -i 's/\\(a\\)/\\1/' x",
    'C:\\new\\table',
  ],
  ...[
    'echo "it\'s" && rm -rf build',
    "it's a dog's life",
    'say "hello" to {name}',
    'echo `date` # now',
    '/* none */ x',
  ],
  ...['one\ntwo\n\tthree', 'if (a) {\n  return "b"\n}\n', '\tindented', '  return x', 'a\r\nb', 'col1\tcol2', 'end \\'],
  ...[
    'https://example.org/a?b=c&d=e',
    '50% < 100% > 1%',
    'naïve café 😀 “quoted” – dash',
    'x = {"a": [1, 2]}',
    '[1, 2]',
  ],
  ...[
    'null',
    'true',
    '007',
    '3.10',
    '1e5',
    'None',
    'NaN',
    'first, note: second',
    'echo(rm -rf x)',
    '\u0001\u001b[0m',
    "'",
    '"',
  ],
  ...[
    '{}',
    '}',
    ']',
    ',',
    ';',
    'a:b',
    '...',
    '…',
    '\\',
    '\\\\server\\share',
    'const x = f(a, b); // why',
    '"a", "b": "c"',
  ],
]

const text: Property = { type: 'string', value: (random) => random.pick(strings) }
const flag: Property = { type: 'boolean', value: (random) => random.chance(50) }
const count: Property = { type: 'integer', value: (random) => random.pick([0, 1, -7, 42, 1000, 65_535, 2 ** 31]) }
const factor: Property = { type: 'number', value: (random) => random.pick([0.5, -1.25, 3, 1e21, 6.02e-23, 0.1]) }
const list: Property = {
  type: 'array',
  value: (random) => Array.from({ length: random.below(4) }, () => element(random)),
}
const record: Property = {
  type: 'object',
  value: (random) => ({ on: random.chance(50), name: random.pick(strings), 'x-y': random.below(9), none: null }),
}

function element(random: Random): unknown {
  const { pick } = { pick: <T>(items: readonly T[]) => random.pick(items) }
  return pick([text, text, text, count, flag, record, factor]).value(random)
}

const tools: readonly { readonly required?: readonly string[]; readonly properties: Record<string, Property> }[] = [
  { required: ['command'], properties: { command: text, timeout: count, background: flag } },
  {
    required: ['path', 'old_string'],
    properties: { path: text, old_string: text, new_string: text, replace_all: flag },
  },
  { required: ['path', 'edits'], properties: { path: text, edits: list, dry_run: flag } },
  { required: ['pattern'], properties: { pattern: text, paths: list, limit: factor, options: record } },
  { properties: { url: text, headers: record, body: text, retries: count, dry_run: flag } },
]
