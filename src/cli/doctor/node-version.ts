import { broken, type Check, type Finding, ok } from './check.ts'

/** The oldest Node that runs this, as `engines` of package.json has it. */
export const oldestNode = '22.18'

/** Whether this Node is new enough. */
export const nodeVersion: Check = {
  name: 'node',
  isEssential: true,
  look: async () => judgeNode(process.versions.node),
}

/** The same for any version. */
export function judgeNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok(`Node ${version}`)
  return broken(`Node ${version} is too old`, `install Node ${oldestNode} or newer, from https://nodejs.org`)
}
