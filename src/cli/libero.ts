import { CliError, UsageError } from './cli-error.ts'
import type { Command } from './command.ts'
import { commands, type Listed } from './commands.ts'
import { exitCodes } from './exit-codes.ts'
import type { Io } from './io.ts'
import { parse } from './parse.ts'
import { programName } from './program-name.ts'

/** `libero …`, whole. Resolves with the exit code. */
export async function libero(args: readonly string[], io: Io): Promise<number> {
  let command: Command | undefined
  try {
    const called = await whatIsMeant(args, io)
    if (typeof called === 'number') return called
    command = called.command
    return await perform(command, called.args, `libero ${command.name}`, io)
  } catch (error) {
    return await complain(error, command, io)
  }
}

interface Called {
  readonly command: Command
  readonly args: readonly string[]
}

const version = ['--version', '-v', 'version']
const help = ['--help', '-h', 'help']
/** Other names that people know. */
const aliases: Readonly<Record<string, string>> = { '--rpc': 'rpc', auth: 'login', session: 'sessions' }

async function whatIsMeant(args: readonly string[], io: Io): Promise<Called | number> {
  const [first, ...rest] = args
  if (first !== undefined && version.includes(first)) {
    io.out(`libero ${(await import('../core/version.ts')).version}`)
    return exitCodes.done
  }
  if (first !== undefined && help.includes(first)) return showHelp(rest, io)
  if (first === undefined) return (await import('./start.ts')).start(io)
  const listed = find(aliases[first] ?? first)
  if (listed) return { command: await listed.load(), args: rest }
  const meant = await misspelt(first, rest)
  if (meant === undefined) return { command: await named('run').load(), args }
  const kind = rest.length === 0 ? 'a task of one word' : 'a task'
  const task = `libero run ${[first, ...rest].join(' ')}`
  io.err(`libero: there is no command "${first}"; did you mean: libero ${meant}? (for ${kind}: ${task})`)
  return exitCodes.usage
}

/** A lone word, or one before a word that the command nearest to it knows: it was hardly meant as a task. */
async function misspelt(first: string, rest: readonly string[]): Promise<string | undefined> {
  if (rest.length > 3 || ![first, ...rest].every((word) => /^[\w-]+$/.test(word)) || first.startsWith('-'))
    return undefined
  const { nearest } = await import('../core/nearest.ts')
  const names = commands.map(({ name }) => name)
  const [meant] = nearest(first, names, 1)
  if (meant === undefined || rest.length === 0) return meant
  const { commands: own = [] } = await named(meant).load()
  if (own.some(({ name }) => name === rest[0])) return [meant, ...rest].join(' ')
  const isOfName = rest.length === 1 && takesName.includes(meant)
  return isOfName ? [meant, ...rest].join(' ') : undefined
}

/** Commands that are followed by the name of something. */
const takesName = ['login', 'logout', 'completion']

const find = (name: string): Listed | undefined => commands.find((one) => one.name === name)
const named = (name: string): Listed => find(name)!

async function showHelp([topic, ...path]: readonly string[], io: Io): Promise<number> {
  const { helpOf, overview } = await import('./help.ts')
  const listed = topic === undefined ? undefined : find(aliases[topic] ?? topic)
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

async function perform(command: Command, args: readonly string[], path: string, io: Io): Promise<number> {
  const { commands: own = [], defaultCommand } = command
  const [first] = args
  const sub = own.find(({ name }) => name === first)
  if (sub) return perform(sub, args.slice(1), `${path} ${sub.name}`, io)
  const isHelp = first === '--help' || first === '-h'
  const standard = own.find(({ name }) => name === defaultCommand)
  if (standard && !isHelp && (first === undefined || first.startsWith('-')))
    return perform(standard, args, `${path} ${standard.name}`, io)
  if (!command.run && !isHelp) throw await notThere(command, first)
  const given = parse(args, command)
  if (given.help || !command.run) {
    io.out((await import('./help.ts')).helpOf(command, path))
    return exitCodes.done
  }
  return command.run(given, io)
}

async function notThere({ name, commands: own = [] }: Command, asked: string | undefined): Promise<UsageError> {
  const names = own.map((one) => one.name)
  if (asked === undefined) return new UsageError(`${name} needs one of ${names.join(', ')}`)
  const { didYouMean } = await import('../core/nearest.ts')
  const { fullyVisible } = await import('../platform/visible-text.ts')
  return new UsageError(
    `${name} has no "${fullyVisible(asked)}"${didYouMean(asked, names) || `; it has ${names.join(', ')}`}`,
  )
}

async function complain(error: unknown, command: Command | undefined, io: Io): Promise<number> {
  if (error instanceof UsageError) {
    const path = `libero ${error.see ?? command?.name ?? 'run'}`
    const help = !error.see && command?.helpsOnMistake && (await import('./help.ts')).helpOf(command, path)
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
