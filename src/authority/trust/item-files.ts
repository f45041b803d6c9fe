import { codeOf } from '../../core/errors.ts'
import { type ReadingBudget, type SourceFiles, SourceProblem, sourceFiles } from '../../platform/source-files.ts'

/** What an item is made of. */
interface ItemFiles extends SourceFiles {
  /** Why it cannot be trusted as it is. */
  readonly problem?: string
}

/** The files of an item of a project, hashed; one that cannot be read whole says why. */
export async function itemFiles(root: string, path: string, budget: ReadingBudget): Promise<ItemFiles> {
  try {
    return await sourceFiles(root, path, budget)
  } catch (error) {
    if (!(error instanceof SourceProblem) && codeOf(error) === undefined) throw error
    const problem = error instanceof SourceProblem ? error.message : `it cannot be read (${codeOf(error)})`
    return { digest: '', files: new Map(), problem }
  }
}
