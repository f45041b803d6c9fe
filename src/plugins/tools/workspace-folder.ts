import { visibleName } from '../../platform/visible-text.ts'
import type { PluginServices } from '../plugin.ts'

/** The folder of a wiki; `undefined` without a name: the folder of the agent's own tools. */
export async function workspaceFolder(
  { knowledge }: Pick<PluginServices, 'knowledge'>,
  workspaceName: string | undefined,
): Promise<string | undefined> {
  if (workspaceName === undefined || workspaceName === '') return undefined
  const name = visibleName(workspaceName.slice(0, longestName))
  if (!knowledge)
    throw new Error(
      `there is no workspace "${name}": this agent has no wikis; leave workspaceName out to work in its own folder`,
    )
  const all = await knowledge.workspaces()
  const found = all.find((workspace) => workspace.name === workspaceName)
  const known = all.filter(({ folder }) => folder !== undefined).slice(0, mostNamed)
  const names = known.map((workspace) => visibleName(workspace.name)).join(', ') || 'none'
  if (!found) throw new Error(`there is no workspace "${name}"; those with a folder are: ${names}`)
  if (found.folder === undefined)
    throw new Error(`the workspace "${name}" lies in memory and has no folder; those with one are: ${names}`)
  return found.folder
}

const longestName = 100
const mostNamed = 50
