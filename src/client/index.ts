/** `libero/client`: sessions and agents of a server of `libero/server`, from a browser or any other program. */

export type { Clock } from '../core/clock.ts'
export type { RemoteOptions } from './connection.ts'
export { createRemoteAgent, type RemoteAgent } from './create-remote-agent.ts'
export { createRemoteClient, type RemoteClient } from './create-remote-client.ts'
export { RemoteProblem } from './remote-problem.ts'
export type { RemotePendingCall, RemoteSession } from './remote-types.ts'
export type { RemoteEvent } from './session-events.ts'
