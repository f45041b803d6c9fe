import type { ExecutionContext } from '../core/execution.ts'
import { type ContractCase, check, checkEqual } from './contract.ts'
import { commandProofs, outputProofs } from './execution-contract-commands.ts'
import { endingProofs } from './execution-contract-ending.ts'
import { fileProofs, filesWithShellProofs, openFileProofs, statProofs } from './execution-contract-files.ts'
import { counting, exitCodeOf, type Proofs } from './execution-contract-kit.ts'

/**
 * What makes an execution context one. `make` gives a context for each case anew, and one more to read its capabilities;
 * the folder it works in is empty. Commands are those of a POSIX shell. Each case destroys the handles it made.
 */
export function executionContract(make: () => ExecutionContext): ContractCase[] {
  const { capabilities, stat, openFile } = make()
  const { shell, filesystem } = capabilities
  const noFiles = filesystem ? undefined : 'no file system'
  const noShell = shell && filesystem ? undefined : 'no shell'
  return [
    ...casesOf(make, always, undefined),
    ...casesOf(make, fileProofs, noFiles),
    ...casesOf(make, openFileProofs, noFiles ?? (openFile ? undefined : 'no openFile')),
    ...casesOf(make, statProofs, noFiles ?? (stat ? undefined : 'no stat')),
    ...casesOf(make, filesWithShellProofs, noShell ?? (stat ? undefined : 'no stat')),
    ...casesOf(make, commandProofs, noShell),
    ...casesOf(make, outputProofs, noShell),
    ...casesOf(make, endingProofs, noShell),
    ...(shell ? [] : casesOf(make, withoutShell, undefined)),
  ]
}

/** A case that does not apply stays in the list and says why it does nothing. */
function casesOf(make: () => ExecutionContext, proofs: Proofs, lacks: string | undefined): ContractCase[] {
  return Object.entries(proofs).map(([name, prove]) => ({
    name: lacks === undefined ? name : `${name} (left out: this context has ${lacks})`,
    run: async () => (lacks === undefined ? proveAndTidy(prove, make()) : undefined),
  }))
}

async function proveAndTidy(prove: Proofs[string], made: ExecutionContext): Promise<void> {
  const { context, handles } = counting(made)
  try {
    await prove(context)
  } finally {
    await Promise.allSettled(handles.map((handle) => made.destroy(handle)))
  }
}

const always: Proofs = {
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

const withoutShell: Proofs = {
  async 'without a shell no command succeeds'(context) {
    const outcome = await exitCodeOf(context.exec(await context.spawn(), 'true'))
    check(outcome !== 0, 'a context without a shell must not claim that a command succeeded')
  },
}
