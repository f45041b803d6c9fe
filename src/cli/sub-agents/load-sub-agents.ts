import { join } from 'node:path'
import { type MarkdownFile, markdownIn, markdownOfProject, readMarkdown } from '../../authority/trust/markdown-files.ts'
import type { ProjectEntry } from '../../authority/trust/project-entry.ts'
import { messageOf } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { parseSubAgent, type SubAgentFile } from './sub-agent-file.ts'

interface SubAgentSources {
  /** The user's own Libero folder. */
  readonly home: string
  /** The user's home folder, if sub-agents of Claude Code count too. */
  readonly claudeHome?: string
  /** Only files that a person accepted are read, as they were accepted. */
  readonly project: ProjectEntry
}

/** The sub-agents in files, and the files that cannot be used. */
export interface FoundSubAgents {
  readonly agents: readonly SubAgentFile[]
  /** Each in a sentence that begins with the path. */
  readonly problems: readonly string[]
}

/** Loads the sub-agents of the user and the project. Of two with the same name the user's is used, then that of Libero's folder. */
export async function loadSubAgents({ home, claudeHome, project }: SubAgentSources): Promise<FoundSubAgents> {
  const ofClaude = '.claude/agents'
  const files: readonly MarkdownFile[] = [
    ...(await markdownIn(join(home, 'agents'))),
    ...(claudeHome === undefined ? [] : await markdownIn(join(claudeHome, ofClaude))),
    ...(await markdownOfProject(project, '.libero/agents', 'agent')),
    ...(claudeHome === undefined ? [] : await markdownOfProject(project, ofClaude, 'agent')),
  ]
  const agents = new Map<string, SubAgentFile>()
  const problems: string[] = []
  for (const file of files) {
    try {
      const { model, ...agent } = await parseSubAgent(await readMarkdown(file))
      if (agents.has(agent.name)) continue
      // A project must not choose what the user pays for.
      agents.set(agent.name, { ...agent, ...(model !== undefined && !file.project && { model }) })
    } catch (error) {
      problems.push(`${fullyVisible(file.path)} is left out: ${messageOf(error)}`)
    }
  }
  return { agents: [...agents.values()], problems }
}
