import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command, Flag, Flags } from '../src/cli/command.ts'
import { commands } from '../src/cli/commands.ts'
import { configFields } from '../src/cli/config/config-schema.ts'
import { signature, usageOf } from '../src/cli/help.ts'
import { knownProviders } from '../src/cli/models/providers.ts'
import { helpFlag } from '../src/cli/parse.ts'
import { head } from './cli-docs-head.ts'

/** The path of the page. */
export const cliDocsPath = fileURLToPath(new URL('../docs/cli.md', import.meta.url))

/** The text of docs/cli.md, generated from the commands. */
export async function cliDocs(): Promise<string> {
  const all = await Promise.all(commands.map((listed) => listed.load()))
  const list = commands.map(({ name, summary }) => `| [\`libero ${name}\`](#libero-${name}) | ${cell(summary)} |`)
  return [
    head,
    '## Environment variables',
    ['| variable | what it does |', '|---|---|', ...variables()].join('\n'),
    '## Settings',
    'Settings are in `config.json` of your own folder, or in `.libero/config.json` of a project that you trust. A project can only make settings stricter: it may set `mode`, `ask`, `deny`, `"profile": "plan"`, `"sandbox": "required"`, smaller limits and `withoutTools`; other settings are left out with a warning, so that no project can redirect your keys or your traffic.',
    ['| key | what it is | values |', '|---|---|---|', ...settings()].join('\n'),
    'The schema is published with the package, for editors (`"$schema"`) and programs:',
    `\`\`\`ts\n${snippet}\n\`\`\``,
    '## Commands',
    ['| command | what it does |', '|---|---|', ...list].join('\n'),
    ...all.flatMap((command) => section(command, `libero ${command.name}`, 2)),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

const snippet = `import schema from 'libero/schemas/config.json' with { type: 'json' }

console.log(schema.properties.mode.enum.join(' ')) // plan ask allowlist yolo`

function variables(): string[] {
  const keys = [...knownProviders({}).values()].filter(({ env }) => env.length > 0)
  return [
    ...Object.entries({
      LIBERO_HOME: 'Your own folder, instead of `~/.libero`: settings, keys, trusted projects, sessions',
      LIBERO_DEBUG: '`1` adds the stack trace to an error',
      NO_COLOR: 'If set: no colours, even on a terminal',
      FORCE_COLOR: 'Colours even without a terminal; `0` for none',
      TERM: '`dumb`: no colours and no live lines',
      CI: 'If set: no live lines',
      DOCKER_HOST: 'The address of Docker, for `--context docker`',
    }).map(([name, says]) => `| \`${name}\` | ${says} |`),
    ...keys.map(({ name, env }) => `| ${env.map((one) => `\`${one}\``).join(', ')} | The key of ${name} |`),
  ]
}

function settings(): string[] {
  return Object.entries(configFields).map(([key, { description, ...schema }]) => {
    const values = schema.enum ? (schema.enum as string[]).map((one) => `\`${one}\``).join(' ') : String(schema.type)
    return `| \`${key}\` | ${cell(String(description))} | ${values} |`
  })
}

function section(command: Command, path: string, level: number): string[] {
  const { summary, details = [], flags = {}, examples = [], commands: own = [] } = command
  const all: Flags = { ...flags, help: helpFlag }
  const rows = Object.entries(all).map(([name, flag]) => `| \`${cell(signature(name, flag))}\` | ${says(flag)} |`)
  return [
    `${'#'.repeat(level)} ${path}`,
    `${summary}.`,
    ['```', ...usageOf(command, path), '```'].join('\n'),
    ...details,
    ...(own.length > 0 ? [] : [['| flag | what it does |', '|---|---|', ...rows].join('\n')]),
    ...(examples.length > 0 ? [examples.map(({ line, says: why }) => `- \`${line}\`  \n  ${why}`).join('\n')] : []),
    ...own.flatMap((one) => section(one, `${path} ${one.name}`, level + 1)),
  ]
}

const says = ({ says: text, multiple }: Flag): string => cell(`${text}${multiple ? ' (repeatable)' : ''}`)

/** A bar would end the cell, even in backticks. */
const cell = (text: string): string => text.replaceAll('|', '\\|')

if (import.meta.main) {
  const wanted = await cliDocs()
  if (!process.argv.includes('--check')) writeFileSync(cliDocsPath, wanted)
  else if (readFileSync(cliDocsPath, 'utf8') !== wanted) {
    console.error('cli-docs: docs/cli.md is out of date; run this without --check')
    process.exitCode = 1
  }
}
