import { gitBranch } from '../../platform/git-branch.ts'

/** The branch of a folder, as last read. `read` it when commands may have changed it. */
export function createBranch(folder: string, onChange: () => void) {
  let name: string | undefined
  return {
    get name() {
      return name
    },
    async read(): Promise<void> {
      const found = await gitBranch(folder)
      if (found === name) return
      name = found
      onChange()
    },
  }
}
