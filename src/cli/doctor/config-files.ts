import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { broken, type Check, ok } from './check.ts'

/** The settings of the user and of this project, whether they can be used. */
export const configFiles: Check = {
  name: 'settings',
  isEssential: true,
  async look({ io, workspace }) {
    try {
      const { project, loaded } = await workspace
      const own = ['config.json', 'authority.json']
        .map((name) => join(io.home, name))
        .filter((path) => existsSync(path))
      const theirs = ['config.json', 'authority.json'].map((name) => join(project.root, '.libero', name))
      const there = theirs.filter((path) => existsSync(path) && !own.includes(path))
      const used = [...own, ...there.filter((path) => project.mayRead(path))]
      const unused = there.filter((path) => !project.mayRead(path))
      return ok(
        [
          used.length === 0 ? 'none, the defaults hold' : `${used.join(', ')} can be used`,
          ...(unused.length === 0
            ? []
            : [`${unused.join(', ')} not used before you trust this project (libero trust)`]),
          ...loaded.warnings,
        ].join('; '),
      )
    } catch (error) {
      return broken(messageOf(error), 'correct that file, or move it away')
    }
  },
}
