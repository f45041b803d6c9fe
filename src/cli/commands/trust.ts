import type { ProjectItem } from '../../authority/trust/project-items.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'trust',
  summary: 'Decide whether to trust a project’s tools, skills, servers, settings and instructions',
  words: '[folder]',
  maxWords: 1,
  details: [
    'A project can run programs with your permissions and influence the model: its tools, skills, MCP servers, settings and instructions are used only if you trust it. In a terminal you are asked when you first work in it.',
    'Without a terminal, read the files of the project, then trust exactly what you read by its digest. Files that change afterwards are not used until you trust them again.',
  ],
  flags: {
    digest: { type: 'string', value: 'digest', says: 'Trust the project if this is its digest' },
    revoke: { type: 'boolean', says: 'Revoke the trust, also in running programs' },
    list: { type: 'boolean', says: 'List all decisions' },
  },
  examples: [
    { line: 'libero trust', says: 'The files of this project, its digest, and whether it is trusted' },
    { line: 'libero trust --digest 3f…', says: 'Trusts exactly these files' },
    { line: 'libero trust --revoke ../other', says: 'Revokes the trust' },
  ],
  async run({ values, words }, io) {
    const { resolve } = await import('node:path')
    const { createTrustList } = await import('../../authority/trust/trust-list.ts')
    const { fullyVisible } = await import('../../platform/visible-text.ts')
    const list = createTrustList({ folder: io.home })
    const root = resolve(io.cwd, words[0] ?? '.')
    const shown = fullyVisible(root)
    if (values.list) {
      for (const { canonicalPath, decision, grantedAt } of await list.list())
        io.out(`${decision}  ${fullyVisible(canonicalPath)}  (${fullyVisible(String(grantedAt))})`)
      return exitCodes.done
    }
    if (values.digest !== undefined && values.revoke)
      throw new UsageError('--digest and --revoke do not go together; choose one of them')
    if (values.revoke) {
      const wasTrusted = await list.revoke(root)
      io.out(wasTrusted ? `${shown} is no longer trusted` : `${shown} was not trusted`)
      return exitCodes.done
    }
    const { describeNames, projectNames } = await import('../../authority/trust/project-names.ts')
    const { digestOfItems, listItems } = await import('../../authority/trust/project-items.ts')
    const { userConfig } = await import('../config/config.ts')
    const claudeSkills = (await userConfig(io.home))?.config.claudeSkills === true
    const items = await listItems(root, { claudeSkills })
    if (values.digest !== undefined) {
      const { trustByDigest } = await import('../../authority/trust/enter-project.ts')
      await trustByDigest(list, root, values.digest, undefined, { claudeSkills })
      io.out(`${shown} is trusted as it is now`)
      for (const line of problems(items)) io.out(line)
      return exitCodes.done
    }
    const known = await list.lookup(root)
    io.out(`${shown}: ${known?.decision ?? 'not decided'}`)
    io.out(describeNames(await projectNames(root, { claudeSkills })))
    for (const item of items) if (item.kind === 'mcp' && item.problem === undefined) io.out(item.shown)
    for (const line of problems(items)) io.out(line)
    io.out(`digest: ${digestOfItems(items)}`)
    const refusal = await list.refusal(root)
    if (refusal !== undefined) io.out(`This folder cannot be trusted as a project: ${fullyVisible(refusal)}`)
    else if (known?.decision !== 'trusted') io.out('Read these files, then: libero trust --digest <digest>')
    return exitCodes.done
  },
})

/** Items that are left out regardless of trust. */
const problems = (items: readonly ProjectItem[]): string[] =>
  items.flatMap(({ shown, problem }) =>
    problem === undefined ? [] : [`left out: ${shown.split('\n')[0]}: ${problem}`],
  )
