import { closeTelemetry } from './assembly/telemetry.ts'
import { CliError, exitCodes, UsageError } from './cli-error.ts'
import type { Command } from './command.ts'
import { type CommandEntry, commands } from './commands.ts'
import type { Io } from './io.ts'
import { parse } from './parse.ts'
import { programName } from './text.ts'

/** The command line: runs `libero <args>` and resolves with the exit code. */
export async function libero(args: readonly string[], io: Io): Promise<number> {
  try {
    return await runArgs(args, io)
  } finally {
    await closeTelemetry(io)
  }
}

async function runArgs(args: readonly string[], io: Io): Promise<number> {
  let meant: ResolvedCommand | undefined
  try {
    const called = await resolveCommand(args, io)
    if (typeof called === 'number') return called
    meant = subcommandOf({ ...called, path: called.command.name })
    return await runCommand(meant, io)
  } catch (error) {
    return await reportError(error, meant, io)
  }
}

interface Called {
  readonly command: Command
  readonly args: readonly string[]
}

const version = ['--version', '-v', 'version']
const help = ['--help', '-h', 'help']
/** Names of commands in other programs. */
const aliases: Readonly<Record<string, string>> = { '--rpc': 'rpc', auth: 'login', session: 'sessions' }

async function resolveCommand(args: readonly string[], io: Io): Promise<Called | number> {
  const [first, ...rest] = args
  if (first !== undefined && version.includes(first)) {
    io.out(`libero ${(await import('../core/version.ts')).version}`)
    return exitCodes.done
  }
  if (first !== undefined && help.includes(first)) return showHelp(rest, io)
  if (first === undefined) return (await import('./start.ts')).start(io)
  const listed = findCommand(aliases[first] ?? first)
  if (listed) return { command: await listed.load(), args: rest }
  const meant = await misspelledCommand(first, rest)
  if (meant === undefined) return { command: await requireCommand('run').load(), args }
  const kind = rest.length === 0 ? 'a task of one word' : 'a task'
  const task = `libero run ${[first, ...rest].join(' ')}`
  io.err(`libero: there is no command "${first}"; did you mean: libero ${meant}? (for ${kind}: ${task})`)
  return exitCodes.usage
}

/** The command that was probably meant, if the words look like a misspelled command rather than a task. */
async function misspelledCommand(first: string, rest: readonly string[]): Promise<string | undefined> {
  if (rest.length > 3 || ![first, ...rest].every((word) => /^[\w-]+$/.test(word)) || first.startsWith('-'))
    return undefined
  const { nearest } = await import('../core/nearest.ts')
  const names = commands.map(({ name }) => name)
  const [meant] = nearest(first, names, 1)
  if (meant === undefined || rest.length === 0) return meant
  const { commands: own = [] } = await requireCommand(meant).load()
  if (own.some(({ name }) => name === rest[0])) return [meant, ...rest].join(' ')
  return rest.length === 1 && takesName.includes(meant) ? [meant, ...rest].join(' ') : undefined
}

/** Commands that take a name as their argument. */
const takesName = ['login', 'logout', 'completion']

const findCommand = (name: string): CommandEntry | undefined => commands.find((one) => one.name === name)
const requireCommand = (name: string): CommandEntry => findCommand(name)!

async function showHelp([topic, ...path]: readonly string[], io: Io): Promise<number> {
  const { helpOf, overview } = await import('./help.ts')
  const listed = topic === undefined ? undefined : findCommand(aliases[topic] ?? topic)
  if (!listed) {
    io.out(overview(commands))
    return exitCodes.done
  }
  let command = await listed.load()
  let full = `libero ${command.name}`
  for (const word of path) {
    const next = command.commands?.find(({ name }) => name === word)
    if (!next) break
    command = next
    full += ` ${word}`
  }
  io.out(helpOf(command, full))
  return exitCodes.done
}

interface ResolvedCommand extends Called {
  /** The words after `libero` that name the command. */
  readonly path: string
}

/** The subcommand that the words name, or the default one. */
function subcommandOf(meant: ResolvedCommand): ResolvedCommand {
  const { commands: own = [], defaultCommand } = meant.command
  const [first, ...rest] = meant.args
  const sub = own.find(({ name }) => name === first)
  if (sub) return subcommandOf({ command: sub, args: rest, path: `${meant.path} ${sub.name}` })
  const standard = own.find(({ name }) => name === defaultCommand)
  if (!standard || isHelp(first) || (first !== undefined && !first.startsWith('-'))) return meant
  return subcommandOf({ command: standard, args: meant.args, path: `${meant.path} ${standard.name}` })
}

const isHelp = (word: string | undefined): boolean => word === '--help' || word === '-h'

async function runCommand({ command, args, path }: ResolvedCommand, io: Io): Promise<number> {
  if (!command.run && !isHelp(args[0])) throw await unknownSubcommand(command, args[0])
  const given = parse(args, command)
  if (given.help || !command.run) {
    io.out((await import('./help.ts')).helpOf(command, `libero ${path}`))
    return exitCodes.done
  }
  return command.run(given, io)
}

async function unknownSubcommand(
  { name, commands: own = [] }: Command,
  asked: string | undefined,
): Promise<UsageError> {
  const names = own.map((one) => one.name)
  if (asked === undefined) return new UsageError(`${name} needs one of ${names.join(', ')}`)
  const { didYouMean } = await import('../core/nearest.ts')
  const { fullyVisible } = await import('../platform/visible-text.ts')
  return new UsageError(
    `${name} has no "${fullyVisible(asked)}"${didYouMean(asked, names) || `; it has ${names.join(', ')}`}`,
  )
}

async function reportError(error: unknown, meant: ResolvedCommand | undefined, io: Io): Promise<number> {
  if (error instanceof UsageError) {
    const path = `libero ${error.see ?? meant?.path ?? 'run'}`
    const command = error.see === undefined ? meant?.command : undefined
    const help = command?.helpOnUsageError && (await import('./help.ts')).helpOf(command, path)
    io.err(`libero: ${error.message}\n${help || `See: ${path.replace('libero', programName(io))} --help`}`)
    return error.exitCode
  }
  if (error instanceof CliError) {
    io.err(`libero: ${error.message}`)
    return error.exitCode
  }
  const { explainFailure } = await import('./explain-failure.ts')
  const { message, exitCode } = explainFailure(error, { env: io.env })
  io.err(`libero: ${message}`)
  return exitCode
}
