import { croner, tiddlywiki, zx } from './agent-packages.ts'
import type { Check } from './check.ts'
import { configFiles } from './config-files.ts'
import { diskSpace } from './disk-space.ts'
import { docker } from './docker.ts'
import { homeFolder } from './home-folder.ts'
import { mcpServers } from './mcp-servers.ts'
import { chosenModel, credentials, localServers } from './models.ts'
import { nodeVersion } from './node-version.ts'
import { optionalPackages } from './optional-packages.ts'
import { git, ripgrep, shell } from './programs.ts'
import { sandbox } from './sandbox.ts'
import { sessionStore } from './session-store.ts'
import { terminal } from './terminal.ts'
import { wikis } from './wikis.ts'

/** Everything that is looked at, in the order of the report. */
export const checks: readonly Check[] = [
  nodeVersion,
  homeFolder,
  configFiles,
  sessionStore,
  diskSpace,
  shell,
  credentials,
  localServers,
  chosenModel,
  mcpServers,
  wikis,
  terminal,
  git,
  ripgrep,
  sandbox,
  docker,
  optionalPackages,
  croner,
  tiddlywiki,
  zx,
]
