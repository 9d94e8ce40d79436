/** The app with which `doctor` tries a gateway: it is not listed, as its one run is not kept. Pure. */
import { plainName } from "@holdfast/store";

export const PROBE_APP = "holdfast-doctor";
export const PROBE_EVENT = `${PROBE_APP}/probe`;
export const PROBE_FUNCTION = `${PROBE_APP}-probe`;

export const isProbe = ({ appId }: { readonly appId: string }): boolean => plainName(appId) === PROBE_APP;
