import type { ExecutionContext } from '../core/execution.ts'
import { type ContractCase, check, checkEqual } from './contract.ts'
import { commandCases, endingCases, outputCases } from './execution-contract-commands.ts'
import { fileCases, filesWithShellCases, openFileCases, statCases } from './execution-contract-files.ts'
import { type ExecutionCases, exitCodeOf, trackHandles } from './execution-contract-kit.ts'

/**
 * The requirements on an execution context. `make` creates a context for each case, and one more to read its capabilities;
 * its working folder is empty. Commands are those of a POSIX shell. Each case destroys the handles it made,
 * and fails when a verb takes longer than `timeoutMs` (default 8000).
 */
export function executionContract(make: () => ExecutionContext, { timeoutMs = 8000 } = {}): ContractCase[] {
  const { capabilities, stat, openFile } = make()
  const { shell, filesystem } = capabilities
  const noFiles = filesystem ? undefined : 'no file system'
  const noShell = shell && filesystem ? undefined : 'no shell'

  /** A case that does not apply stays in the list, with the reason in its name. */
  function casesOf(cases: ExecutionCases, lacks: string | undefined): ContractCase[] {
    return Object.entries(cases).map(([name, runCase]) => ({
      name: lacks === undefined ? name : `${name} (left out: this context has ${lacks})`,
      run: async () => (lacks === undefined ? runAndCleanUp(runCase, make(), timeoutMs) : undefined),
    }))
  }

  return [
    ...casesOf(generalCases, undefined),
    ...casesOf(fileCases, noFiles),
    ...casesOf(openFileCases, noFiles ?? (openFile ? undefined : 'no openFile')),
    ...casesOf(statCases, noFiles ?? (stat ? undefined : 'no stat')),
    ...casesOf(filesWithShellCases, noShell ?? (stat ? undefined : 'no stat')),
    ...casesOf(commandCases, noShell),
    ...casesOf(outputCases, noShell),
    ...casesOf(endingCases, noShell),
    ...(shell ? [] : casesOf(casesWithoutShell, undefined)),
  ]
}

async function runAndCleanUp(
  runCase: ExecutionCases[string],
  made: ExecutionContext,
  timeoutMs: number,
): Promise<void> {
  const { context, handles } = trackHandles(made, timeoutMs)
  try {
    await runCase(context)
  } finally {
    await Promise.allSettled(handles.map((handle) => made.destroy(handle)))
  }
}

const generalCases: ExecutionCases = {
  async 'every spawn gives a handle of its own'(context) {
    const handles = await Promise.all([context.spawn(), context.spawn(), context.spawn()])
    checkEqual(new Set(handles.map(({ id }) => id)).size, 3, 'the number of different ids')
    for (const { type, cwd } of handles) {
      checkEqual(type, context.type, 'the type of a handle')
      check(cwd !== '', 'a handle needs a cwd')
    }
  },

  async 'says of each capability whether it has it'({ capabilities }) {
    const { shell, filesystem, network, gpu } = capabilities
    const types = [typeof shell, typeof filesystem, typeof network, typeof gpu]
    checkEqual(types, ['boolean', 'boolean', 'boolean', 'boolean'], 'the types of the capabilities')
  },

  async 'destroying a handle twice is harmless, and harms no other handle'(context) {
    const [one, other] = [await context.spawn(), await context.spawn()]
    await context.destroy(one)
    await context.destroy(one)
    if (!context.capabilities.filesystem) return
    await context.writeFile(other, 'f.txt', 'still here')
    checkEqual(await context.readFile(other, 'f.txt'), 'still here', 'a file of the other handle')
  },
}

const casesWithoutShell: ExecutionCases = {
  async 'without a shell no command succeeds'(context) {
    const outcome = await exitCodeOf(context, context.exec(await context.spawn(), 'true'))
    check(outcome !== 0, 'a context without a shell must not claim that a command succeeded')
  },
}
