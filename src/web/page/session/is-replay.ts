/** Whether this is a copy of a session, without a server. A constant, so that its file has none of what needs one. */
export const isReplay: boolean = false
