import { join } from 'node:path'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { enterProject } from '../../authority/trust/enter-project.ts'
import { createEntry, type ProjectEntry } from '../../authority/trust/project-entry.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'
import { createIds, systemClock } from '../../core/clock.ts'
import type { Interact } from '../../core/interaction.ts'
import { claudeSearch, type LoadedConfig, loadConfig, userConfig } from '../config/config.ts'
import type { Io } from '../io.ts'

/** A folder with its trusted files, and the settings of the user and the project. */
export interface Workspace {
  readonly cwd: string
  readonly project: ProjectEntry
  readonly loaded: LoadedConfig
}

interface WorkspaceOptions {
  readonly io: Pick<Io, 'home'>
  readonly person?: Interactor
  /** `left out`: the folder is not read; only the user's own settings apply. */
  readonly project?: 'left out'
}

/** Opens a folder. `person` is asked whether to trust it; without a person, nothing of an unknown project is used. */
export async function openWorkspace(cwd: string, options: WorkspaceOptions): Promise<Workspace> {
  const { home } = options.io
  const own = await userConfig(home)
  if (options.project === 'left out') {
    const project = await createEntry({ canonicalPath: cwd }, { state: 'plain' })
    return { cwd, project, loaded: await loadConfig({ home, own }) }
  }
  const project = await enterProject(cwd, {
    list: createTrustList({ folder: home }),
    ownInstructions: join(home, 'AGENTS.md'),
    ...claudeSearch(own?.config),
    advice: 'To see what it brings, and to trust it: libero trust',
    ...(options.person && { interact: await interactWith(options.person) }),
  })
  try {
    return { cwd, project, loaded: await loadConfig({ home, projectRoot: cwd, mayRead: project.mayRead, own }) }
  } catch (error) {
    project.dispose()
    throw error
  }
}

/** Asks one person without an authority. */
export async function interactWith(person: Interactor): Promise<Interact> {
  const { createInteractions, interactThrough } = await import('../../authority/interaction/interactions.ts')
  const interactions = createInteractions({ clock: systemClock, newId: createIds() })
  interactions.attach(person)
  return interactThrough(interactions)
}
