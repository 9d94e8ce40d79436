import * as $protobuf from "protobufjs/minimal.js";
import Long = require("long");

/** Namespace connect. */
export namespace connect {

    /** Namespace v1. */
    namespace v1 {

        /** GatewayMessageType enum. */
        enum GatewayMessageType {

            /** GATEWAY_HELLO value */
            GATEWAY_HELLO = 0,

            /** WORKER_CONNECT value */
            WORKER_CONNECT = 1,

            /** GATEWAY_CONNECTION_READY value */
            GATEWAY_CONNECTION_READY = 2,

            /** GATEWAY_EXECUTOR_REQUEST value */
            GATEWAY_EXECUTOR_REQUEST = 3,

            /** WORKER_READY value */
            WORKER_READY = 4,

            /** WORKER_REQUEST_ACK value */
            WORKER_REQUEST_ACK = 5,

            /** WORKER_REPLY value */
            WORKER_REPLY = 6,

            /** WORKER_REPLY_ACK value */
            WORKER_REPLY_ACK = 7,

            /** WORKER_PAUSE value */
            WORKER_PAUSE = 8,

            /** WORKER_HEARTBEAT value */
            WORKER_HEARTBEAT = 9,

            /** GATEWAY_HEARTBEAT value */
            GATEWAY_HEARTBEAT = 10,

            /** GATEWAY_CLOSING value */
            GATEWAY_CLOSING = 11,

            /** WORKER_REQUEST_EXTEND_LEASE value */
            WORKER_REQUEST_EXTEND_LEASE = 12,

            /** WORKER_REQUEST_EXTEND_LEASE_ACK value */
            WORKER_REQUEST_EXTEND_LEASE_ACK = 13,

            /** SYNC_FAILED value */
            SYNC_FAILED = 14,

            /** WORKER_STATUS value */
            WORKER_STATUS = 15,

            /** WORKER_CHECKPOINT value */
            WORKER_CHECKPOINT = 100,

            /** GATEWAY_CHECKPOINT_ACK value */
            GATEWAY_CHECKPOINT_ACK = 101,

            /** WORKER_REQUEST_NACK value */
            WORKER_REQUEST_NACK = 102,

            /** GATEWAY_CANCEL value */
            GATEWAY_CANCEL = 103,

            /** WORKER_STALL value */
            WORKER_STALL = 104
        }

        /** SDKResponseStatus enum. */
        enum SDKResponseStatus {

            /** NOT_COMPLETED value */
            NOT_COMPLETED = 0,

            /** DONE value */
            DONE = 1,

            /** ERROR value */
            ERROR = 2
        }

        /** ConnectionStatus enum. */
        enum ConnectionStatus {

            /** CONNECTED value */
            CONNECTED = 0,

            /** READY value */
            READY = 1,

            /** DRAINING value */
            DRAINING = 2,

            /** DISCONNECTING value */
            DISCONNECTING = 3,

            /** DISCONNECTED value */
            DISCONNECTED = 4
        }

        /** WorkerDisconnectReason enum. */
        enum WorkerDisconnectReason {

            /** WORKER_SHUTDOWN value */
            WORKER_SHUTDOWN = 0,

            /** UNEXPECTED value */
            UNEXPECTED = 1,

            /** GATEWAY_DRAINING value */
            GATEWAY_DRAINING = 2,

            /** CONSECUTIVE_HEARTBEATS_MISSED value */
            CONSECUTIVE_HEARTBEATS_MISSED = 3,

            /** MESSAGE_TOO_LARGE value */
            MESSAGE_TOO_LARGE = 4
        }

        /**
         * Properties of a ConnectMessage.
         * @deprecated Use connect.v1.ConnectMessage.$Properties instead.
         */
        interface IConnectMessage extends connect.v1.ConnectMessage.$Properties {
        }

        /** Represents a ConnectMessage. */
        class ConnectMessage {

            /**
             * Constructs a new ConnectMessage.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.ConnectMessage.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ConnectMessage kind. */
            kind: connect.v1.GatewayMessageType;

            /** ConnectMessage payload. */
            payload: Uint8Array;

            /**
             * Encodes the specified ConnectMessage message. Does not implicitly {@link connect.v1.ConnectMessage.verify|verify} messages.
             * @param message ConnectMessage message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.ConnectMessage.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a ConnectMessage message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.ConnectMessage & connect.v1.ConnectMessage.$Shape} ConnectMessage
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.ConnectMessage & connect.v1.ConnectMessage.$Shape;
        }

        namespace ConnectMessage {

            /** Properties of a ConnectMessage. */
            interface $Properties {

                /** ConnectMessage kind */
                kind?: (connect.v1.GatewayMessageType|null);

                /** ConnectMessage payload */
                payload?: (Uint8Array|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a ConnectMessage. */
            type $Shape = connect.v1.ConnectMessage.$Properties;
        }

        /**
         * Properties of a StartRequest.
         * @deprecated Use connect.v1.StartRequest.$Properties instead.
         */
        interface IStartRequest extends connect.v1.StartRequest.$Properties {
        }

        /** Represents a StartRequest. */
        class StartRequest {

            /**
             * Constructs a new StartRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.StartRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** StartRequest excludeGateways. */
            excludeGateways: string[];

            /**
             * Encodes the specified StartRequest message. Does not implicitly {@link connect.v1.StartRequest.verify|verify} messages.
             * @param message StartRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.StartRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a StartRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.StartRequest & connect.v1.StartRequest.$Shape} StartRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.StartRequest & connect.v1.StartRequest.$Shape;
        }

        namespace StartRequest {

            /** Properties of a StartRequest. */
            interface $Properties {

                /** StartRequest excludeGateways */
                excludeGateways?: (string[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a StartRequest. */
            type $Shape = connect.v1.StartRequest.$Properties;
        }

        /**
         * Properties of a StartResponse.
         * @deprecated Use connect.v1.StartResponse.$Properties instead.
         */
        interface IStartResponse extends connect.v1.StartResponse.$Properties {
        }

        /** Represents a StartResponse. */
        class StartResponse {

            /**
             * Constructs a new StartResponse.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.StartResponse.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** StartResponse connectionId. */
            connectionId: string;

            /** StartResponse gatewayEndpoint. */
            gatewayEndpoint: string;

            /** StartResponse gatewayGroup. */
            gatewayGroup: string;

            /** StartResponse sessionToken. */
            sessionToken: string;

            /** StartResponse syncToken. */
            syncToken: string;

            /**
             * Encodes the specified StartResponse message. Does not implicitly {@link connect.v1.StartResponse.verify|verify} messages.
             * @param message StartResponse message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.StartResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a StartResponse message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.StartResponse & connect.v1.StartResponse.$Shape} StartResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.StartResponse & connect.v1.StartResponse.$Shape;
        }

        namespace StartResponse {

            /** Properties of a StartResponse. */
            interface $Properties {

                /** StartResponse connectionId */
                connectionId?: (string|null);

                /** StartResponse gatewayEndpoint */
                gatewayEndpoint?: (string|null);

                /** StartResponse gatewayGroup */
                gatewayGroup?: (string|null);

                /** StartResponse sessionToken */
                sessionToken?: (string|null);

                /** StartResponse syncToken */
                syncToken?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a StartResponse. */
            type $Shape = connect.v1.StartResponse.$Properties;
        }

        /**
         * Properties of a FlushResponse.
         * @deprecated Use connect.v1.FlushResponse.$Properties instead.
         */
        interface IFlushResponse extends connect.v1.FlushResponse.$Properties {
        }

        /** Represents a FlushResponse. */
        class FlushResponse {

            /**
             * Constructs a new FlushResponse.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.FlushResponse.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** FlushResponse requestId. */
            requestId: string;

            /**
             * Encodes the specified FlushResponse message. Does not implicitly {@link connect.v1.FlushResponse.verify|verify} messages.
             * @param message FlushResponse message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.FlushResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a FlushResponse message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.FlushResponse & connect.v1.FlushResponse.$Shape} FlushResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.FlushResponse & connect.v1.FlushResponse.$Shape;
        }

        namespace FlushResponse {

            /** Properties of a FlushResponse. */
            interface $Properties {

                /** FlushResponse requestId */
                requestId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a FlushResponse. */
            type $Shape = connect.v1.FlushResponse.$Properties;
        }

        /**
         * Properties of an AuthData.
         * @deprecated Use connect.v1.AuthData.$Properties instead.
         */
        interface IAuthData extends connect.v1.AuthData.$Properties {
        }

        /** Represents an AuthData. */
        class AuthData {

            /**
             * Constructs a new AuthData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.AuthData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** AuthData sessionToken. */
            sessionToken: string;

            /** AuthData syncToken. */
            syncToken: string;

            /**
             * Encodes the specified AuthData message. Does not implicitly {@link connect.v1.AuthData.verify|verify} messages.
             * @param message AuthData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.AuthData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an AuthData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.AuthData & connect.v1.AuthData.$Shape} AuthData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.AuthData & connect.v1.AuthData.$Shape;
        }

        namespace AuthData {

            /** Properties of an AuthData. */
            interface $Properties {

                /** AuthData sessionToken */
                sessionToken?: (string|null);

                /** AuthData syncToken */
                syncToken?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an AuthData. */
            type $Shape = connect.v1.AuthData.$Properties;
        }

        /**
         * Properties of a SystemAttributes.
         * @deprecated Use connect.v1.SystemAttributes.$Properties instead.
         */
        interface ISystemAttributes extends connect.v1.SystemAttributes.$Properties {
        }

        /** Represents a SystemAttributes. */
        class SystemAttributes {

            /**
             * Constructs a new SystemAttributes.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.SystemAttributes.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SystemAttributes cpuCores. */
            cpuCores: number;

            /** SystemAttributes memBytes. */
            memBytes: number;

            /** SystemAttributes os. */
            os: string;

            /**
             * Encodes the specified SystemAttributes message. Does not implicitly {@link connect.v1.SystemAttributes.verify|verify} messages.
             * @param message SystemAttributes message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.SystemAttributes.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SystemAttributes message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.SystemAttributes & connect.v1.SystemAttributes.$Shape} SystemAttributes
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.SystemAttributes & connect.v1.SystemAttributes.$Shape;
        }

        namespace SystemAttributes {

            /** Properties of a SystemAttributes. */
            interface $Properties {

                /** SystemAttributes cpuCores */
                cpuCores?: (number|null);

                /** SystemAttributes memBytes */
                memBytes?: (number|null);

                /** SystemAttributes os */
                os?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SystemAttributes. */
            type $Shape = connect.v1.SystemAttributes.$Properties;
        }

        /**
         * Properties of a Timestamp.
         * @deprecated Use connect.v1.Timestamp.$Properties instead.
         */
        interface ITimestamp extends connect.v1.Timestamp.$Properties {
        }

        /** Represents a Timestamp. */
        class Timestamp {

            /**
             * Constructs a new Timestamp.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.Timestamp.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Timestamp seconds. */
            seconds: number;

            /** Timestamp nanos. */
            nanos: number;

            /**
             * Encodes the specified Timestamp message. Does not implicitly {@link connect.v1.Timestamp.verify|verify} messages.
             * @param message Timestamp message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.Timestamp.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Timestamp message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.Timestamp & connect.v1.Timestamp.$Shape} Timestamp
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.Timestamp & connect.v1.Timestamp.$Shape;
        }

        namespace Timestamp {

            /** Properties of a Timestamp. */
            interface $Properties {

                /** Timestamp seconds */
                seconds?: (number|null);

                /** Timestamp nanos */
                nanos?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Timestamp. */
            type $Shape = connect.v1.Timestamp.$Properties;
        }

        /**
         * Properties of an AppConfiguration.
         * @deprecated Use connect.v1.AppConfiguration.$Properties instead.
         */
        interface IAppConfiguration extends connect.v1.AppConfiguration.$Properties {
        }

        /** Represents an AppConfiguration. */
        class AppConfiguration {

            /**
             * Constructs a new AppConfiguration.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.AppConfiguration.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** AppConfiguration appName. */
            appName: string;

            /** AppConfiguration appVersion. */
            appVersion?: (string|null);

            /** AppConfiguration functions. */
            functions: Uint8Array;

            /** AppConfiguration featureObservations. */
            featureObservations: Uint8Array;

            /**
             * Encodes the specified AppConfiguration message. Does not implicitly {@link connect.v1.AppConfiguration.verify|verify} messages.
             * @param message AppConfiguration message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.AppConfiguration.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an AppConfiguration message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.AppConfiguration & connect.v1.AppConfiguration.$Shape} AppConfiguration
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.AppConfiguration & connect.v1.AppConfiguration.$Shape;
        }

        namespace AppConfiguration {

            /** Properties of an AppConfiguration. */
            interface $Properties {

                /** AppConfiguration appName */
                appName?: (string|null);

                /** AppConfiguration appVersion */
                appVersion?: (string|null);

                /** AppConfiguration functions */
                functions?: (Uint8Array|null);

                /** AppConfiguration featureObservations */
                featureObservations?: (Uint8Array|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an AppConfiguration. */
            type $Shape = connect.v1.AppConfiguration.$Properties;
        }

        /**
         * Properties of a FeatureObservations.
         * @deprecated Use connect.v1.FeatureObservations.$Properties instead.
         */
        interface IFeatureObservations extends connect.v1.FeatureObservations.$Properties {
        }

        /** Represents a FeatureObservations. */
        class FeatureObservations {

            /**
             * Constructs a new FeatureObservations.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.FeatureObservations.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** FeatureObservations aiMetadataExtraction. */
            aiMetadataExtraction?: (connect.v1.AIMetadataExtraction.$Properties|null);

            /** FeatureObservations extendedTraces. */
            extendedTraces?: (connect.v1.ExtendedTraces.$Properties|null);

            /** FeatureObservations sendEvents. */
            sendEvents?: (connect.v1.SendEvents.$Properties|null);

            /**
             * Encodes the specified FeatureObservations message. Does not implicitly {@link connect.v1.FeatureObservations.verify|verify} messages.
             * @param message FeatureObservations message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.FeatureObservations.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a FeatureObservations message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.FeatureObservations & connect.v1.FeatureObservations.$Shape} FeatureObservations
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.FeatureObservations & connect.v1.FeatureObservations.$Shape;
        }

        namespace FeatureObservations {

            /** Properties of a FeatureObservations. */
            interface $Properties {

                /** FeatureObservations aiMetadataExtraction */
                aiMetadataExtraction?: (connect.v1.AIMetadataExtraction.$Properties|null);

                /** FeatureObservations extendedTraces */
                extendedTraces?: (connect.v1.ExtendedTraces.$Properties|null);

                /** FeatureObservations sendEvents */
                sendEvents?: (connect.v1.SendEvents.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a FeatureObservations. */
            type $Shape = connect.v1.FeatureObservations.$Properties;
        }

        /**
         * Properties of a AIMetadataExtraction.
         * @deprecated Use connect.v1.AIMetadataExtraction.$Properties instead.
         */
        interface IAIMetadataExtraction extends connect.v1.AIMetadataExtraction.$Properties {
        }

        /** Represents a AIMetadataExtraction. */
        class AIMetadataExtraction {

            /**
             * Constructs a new AIMetadataExtraction.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.AIMetadataExtraction.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** AIMetadataExtraction readinessReason. */
            readinessReason: number;

            /** AIMetadataExtraction otelSetup. */
            otelSetup?: (connect.v1.OTelSetup.$Properties|null);

            /**
             * Encodes the specified AIMetadataExtraction message. Does not implicitly {@link connect.v1.AIMetadataExtraction.verify|verify} messages.
             * @param message AIMetadataExtraction message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.AIMetadataExtraction.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a AIMetadataExtraction message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.AIMetadataExtraction & connect.v1.AIMetadataExtraction.$Shape} AIMetadataExtraction
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.AIMetadataExtraction & connect.v1.AIMetadataExtraction.$Shape;
        }

        namespace AIMetadataExtraction {

            /** Properties of a AIMetadataExtraction. */
            interface $Properties {

                /** AIMetadataExtraction readinessReason */
                readinessReason?: (number|null);

                /** AIMetadataExtraction otelSetup */
                otelSetup?: (connect.v1.OTelSetup.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a AIMetadataExtraction. */
            type $Shape = connect.v1.AIMetadataExtraction.$Properties;
        }

        /**
         * Properties of an ExtendedTraces.
         * @deprecated Use connect.v1.ExtendedTraces.$Properties instead.
         */
        interface IExtendedTraces extends connect.v1.ExtendedTraces.$Properties {
        }

        /** Represents an ExtendedTraces. */
        class ExtendedTraces {

            /**
             * Constructs a new ExtendedTraces.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.ExtendedTraces.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ExtendedTraces readinessReason. */
            readinessReason: number;

            /** ExtendedTraces config. */
            config?: (connect.v1.ExtendedTracesConfig.$Properties|null);

            /** ExtendedTraces otelSetup. */
            otelSetup?: (connect.v1.OTelSetup.$Properties|null);

            /**
             * Encodes the specified ExtendedTraces message. Does not implicitly {@link connect.v1.ExtendedTraces.verify|verify} messages.
             * @param message ExtendedTraces message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.ExtendedTraces.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an ExtendedTraces message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.ExtendedTraces & connect.v1.ExtendedTraces.$Shape} ExtendedTraces
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.ExtendedTraces & connect.v1.ExtendedTraces.$Shape;
        }

        namespace ExtendedTraces {

            /** Properties of an ExtendedTraces. */
            interface $Properties {

                /** ExtendedTraces readinessReason */
                readinessReason?: (number|null);

                /** ExtendedTraces config */
                config?: (connect.v1.ExtendedTracesConfig.$Properties|null);

                /** ExtendedTraces otelSetup */
                otelSetup?: (connect.v1.OTelSetup.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an ExtendedTraces. */
            type $Shape = connect.v1.ExtendedTraces.$Properties;
        }

        /**
         * Properties of an ExtendedTracesConfig.
         * @deprecated Use connect.v1.ExtendedTracesConfig.$Properties instead.
         */
        interface IExtendedTracesConfig extends connect.v1.ExtendedTracesConfig.$Properties {
        }

        /** Represents an ExtendedTracesConfig. */
        class ExtendedTracesConfig {

            /**
             * Constructs a new ExtendedTracesConfig.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.ExtendedTracesConfig.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ExtendedTracesConfig behavior. */
            behavior: number;

            /**
             * Encodes the specified ExtendedTracesConfig message. Does not implicitly {@link connect.v1.ExtendedTracesConfig.verify|verify} messages.
             * @param message ExtendedTracesConfig message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.ExtendedTracesConfig.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an ExtendedTracesConfig message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.ExtendedTracesConfig & connect.v1.ExtendedTracesConfig.$Shape} ExtendedTracesConfig
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.ExtendedTracesConfig & connect.v1.ExtendedTracesConfig.$Shape;
        }

        namespace ExtendedTracesConfig {

            /** Properties of an ExtendedTracesConfig. */
            interface $Properties {

                /** ExtendedTracesConfig behavior */
                behavior?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an ExtendedTracesConfig. */
            type $Shape = connect.v1.ExtendedTracesConfig.$Properties;
        }

        /**
         * Properties of a SendEvents.
         * @deprecated Use connect.v1.SendEvents.$Properties instead.
         */
        interface ISendEvents extends connect.v1.SendEvents.$Properties {
        }

        /** Represents a SendEvents. */
        class SendEvents {

            /**
             * Constructs a new SendEvents.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.SendEvents.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SendEvents readinessReason. */
            readinessReason: number;

            /** SendEvents config. */
            config?: (connect.v1.SendEventsConfig.$Properties|null);

            /**
             * Encodes the specified SendEvents message. Does not implicitly {@link connect.v1.SendEvents.verify|verify} messages.
             * @param message SendEvents message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.SendEvents.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SendEvents message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.SendEvents & connect.v1.SendEvents.$Shape} SendEvents
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.SendEvents & connect.v1.SendEvents.$Shape;
        }

        namespace SendEvents {

            /** Properties of a SendEvents. */
            interface $Properties {

                /** SendEvents readinessReason */
                readinessReason?: (number|null);

                /** SendEvents config */
                config?: (connect.v1.SendEventsConfig.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SendEvents. */
            type $Shape = connect.v1.SendEvents.$Properties;
        }

        /**
         * Properties of a SendEventsConfig.
         * @deprecated Use connect.v1.SendEventsConfig.$Properties instead.
         */
        interface ISendEventsConfig extends connect.v1.SendEventsConfig.$Properties {
        }

        /** Represents a SendEventsConfig. */
        class SendEventsConfig {

            /**
             * Constructs a new SendEventsConfig.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.SendEventsConfig.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SendEventsConfig eventKeyConfigured. */
            eventKeyConfigured: boolean;

            /** SendEventsConfig eventApiOriginOverrideConfigured. */
            eventApiOriginOverrideConfigured: boolean;

            /**
             * Encodes the specified SendEventsConfig message. Does not implicitly {@link connect.v1.SendEventsConfig.verify|verify} messages.
             * @param message SendEventsConfig message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.SendEventsConfig.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SendEventsConfig message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.SendEventsConfig & connect.v1.SendEventsConfig.$Shape} SendEventsConfig
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.SendEventsConfig & connect.v1.SendEventsConfig.$Shape;
        }

        namespace SendEventsConfig {

            /** Properties of a SendEventsConfig. */
            interface $Properties {

                /** SendEventsConfig eventKeyConfigured */
                eventKeyConfigured?: (boolean|null);

                /** SendEventsConfig eventApiOriginOverrideConfigured */
                eventApiOriginOverrideConfigured?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SendEventsConfig. */
            type $Shape = connect.v1.SendEventsConfig.$Properties;
        }

        /**
         * Properties of a OTelSetup.
         * @deprecated Use connect.v1.OTelSetup.$Properties instead.
         */
        interface IOTelSetup extends connect.v1.OTelSetup.$Properties {
        }

        /** Represents a OTelSetup. */
        class OTelSetup {

            /**
             * Constructs a new OTelSetup.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.OTelSetup.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** OTelSetup path. */
            path: number;

            /** OTelSetup providerFound. */
            providerFound: boolean;

            /** OTelSetup providerSource. */
            providerSource: number;

            /** OTelSetup addSpanProcessorAttempted. */
            addSpanProcessorAttempted: boolean;

            /** OTelSetup spanProcessorAdded. */
            spanProcessorAdded: boolean;

            /** OTelSetup failure. */
            failure: number;

            /**
             * Encodes the specified OTelSetup message. Does not implicitly {@link connect.v1.OTelSetup.verify|verify} messages.
             * @param message OTelSetup message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.OTelSetup.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a OTelSetup message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.OTelSetup & connect.v1.OTelSetup.$Shape} OTelSetup
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.OTelSetup & connect.v1.OTelSetup.$Shape;
        }

        namespace OTelSetup {

            /** Properties of a OTelSetup. */
            interface $Properties {

                /** OTelSetup path */
                path?: (number|null);

                /** OTelSetup providerFound */
                providerFound?: (boolean|null);

                /** OTelSetup providerSource */
                providerSource?: (number|null);

                /** OTelSetup addSpanProcessorAttempted */
                addSpanProcessorAttempted?: (boolean|null);

                /** OTelSetup spanProcessorAdded */
                spanProcessorAdded?: (boolean|null);

                /** OTelSetup failure */
                failure?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a OTelSetup. */
            type $Shape = connect.v1.OTelSetup.$Properties;
        }

        /**
         * Properties of a WorkerConnectRequestData.
         * @deprecated Use connect.v1.WorkerConnectRequestData.$Properties instead.
         */
        interface IWorkerConnectRequestData extends connect.v1.WorkerConnectRequestData.$Properties {
        }

        /** Represents a WorkerConnectRequestData. */
        class WorkerConnectRequestData {

            /**
             * Constructs a new WorkerConnectRequestData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerConnectRequestData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerConnectRequestData connectionId. */
            connectionId: string;

            /** WorkerConnectRequestData instanceId. */
            instanceId: string;

            /** WorkerConnectRequestData authData. */
            authData?: (connect.v1.AuthData.$Properties|null);

            /** WorkerConnectRequestData capabilities. */
            capabilities: Uint8Array;

            /** WorkerConnectRequestData apps. */
            apps: connect.v1.AppConfiguration.$Properties[];

            /** WorkerConnectRequestData workerManualReadinessAck. */
            workerManualReadinessAck: boolean;

            /** WorkerConnectRequestData systemAttributes. */
            systemAttributes?: (connect.v1.SystemAttributes.$Properties|null);

            /** WorkerConnectRequestData environment. */
            environment?: (string|null);

            /** WorkerConnectRequestData framework. */
            framework: string;

            /** WorkerConnectRequestData platform. */
            platform?: (string|null);

            /** WorkerConnectRequestData sdkVersion. */
            sdkVersion: string;

            /** WorkerConnectRequestData sdkLanguage. */
            sdkLanguage: string;

            /** WorkerConnectRequestData startedAt. */
            startedAt?: (connect.v1.Timestamp.$Properties|null);

            /** WorkerConnectRequestData maxWorkerConcurrency. */
            maxWorkerConcurrency?: (number|null);

            /**
             * Encodes the specified WorkerConnectRequestData message. Does not implicitly {@link connect.v1.WorkerConnectRequestData.verify|verify} messages.
             * @param message WorkerConnectRequestData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerConnectRequestData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerConnectRequestData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerConnectRequestData & connect.v1.WorkerConnectRequestData.$Shape} WorkerConnectRequestData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerConnectRequestData & connect.v1.WorkerConnectRequestData.$Shape;
        }

        namespace WorkerConnectRequestData {

            /** Properties of a WorkerConnectRequestData. */
            interface $Properties {

                /** WorkerConnectRequestData connectionId */
                connectionId?: (string|null);

                /** WorkerConnectRequestData instanceId */
                instanceId?: (string|null);

                /** WorkerConnectRequestData authData */
                authData?: (connect.v1.AuthData.$Properties|null);

                /** WorkerConnectRequestData capabilities */
                capabilities?: (Uint8Array|null);

                /** WorkerConnectRequestData apps */
                apps?: (connect.v1.AppConfiguration.$Properties[]|null);

                /** WorkerConnectRequestData workerManualReadinessAck */
                workerManualReadinessAck?: (boolean|null);

                /** WorkerConnectRequestData systemAttributes */
                systemAttributes?: (connect.v1.SystemAttributes.$Properties|null);

                /** WorkerConnectRequestData environment */
                environment?: (string|null);

                /** WorkerConnectRequestData framework */
                framework?: (string|null);

                /** WorkerConnectRequestData platform */
                platform?: (string|null);

                /** WorkerConnectRequestData sdkVersion */
                sdkVersion?: (string|null);

                /** WorkerConnectRequestData sdkLanguage */
                sdkLanguage?: (string|null);

                /** WorkerConnectRequestData startedAt */
                startedAt?: (connect.v1.Timestamp.$Properties|null);

                /** WorkerConnectRequestData maxWorkerConcurrency */
                maxWorkerConcurrency?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerConnectRequestData. */
            type $Shape = connect.v1.WorkerConnectRequestData.$Properties;
        }

        /**
         * Properties of a GatewayConnectionReadyData.
         * @deprecated Use connect.v1.GatewayConnectionReadyData.$Properties instead.
         */
        interface IGatewayConnectionReadyData extends connect.v1.GatewayConnectionReadyData.$Properties {
        }

        /** Represents a GatewayConnectionReadyData. */
        class GatewayConnectionReadyData {

            /**
             * Constructs a new GatewayConnectionReadyData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.GatewayConnectionReadyData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** GatewayConnectionReadyData heartbeatInterval. */
            heartbeatInterval: string;

            /** GatewayConnectionReadyData extendLeaseInterval. */
            extendLeaseInterval: string;

            /** GatewayConnectionReadyData statusInterval. */
            statusInterval: string;

            /** GatewayConnectionReadyData extensions. */
            extensions: string[];

            /**
             * Encodes the specified GatewayConnectionReadyData message. Does not implicitly {@link connect.v1.GatewayConnectionReadyData.verify|verify} messages.
             * @param message GatewayConnectionReadyData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.GatewayConnectionReadyData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a GatewayConnectionReadyData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.GatewayConnectionReadyData & connect.v1.GatewayConnectionReadyData.$Shape} GatewayConnectionReadyData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.GatewayConnectionReadyData & connect.v1.GatewayConnectionReadyData.$Shape;
        }

        namespace GatewayConnectionReadyData {

            /** Properties of a GatewayConnectionReadyData. */
            interface $Properties {

                /** GatewayConnectionReadyData heartbeatInterval */
                heartbeatInterval?: (string|null);

                /** GatewayConnectionReadyData extendLeaseInterval */
                extendLeaseInterval?: (string|null);

                /** GatewayConnectionReadyData statusInterval */
                statusInterval?: (string|null);

                /** GatewayConnectionReadyData extensions */
                extensions?: (string[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a GatewayConnectionReadyData. */
            type $Shape = connect.v1.GatewayConnectionReadyData.$Properties;
        }

        /**
         * Properties of a SystemError.
         * @deprecated Use connect.v1.SystemError.$Properties instead.
         */
        interface ISystemError extends connect.v1.SystemError.$Properties {
        }

        /** Represents a SystemError. */
        class SystemError {

            /**
             * Constructs a new SystemError.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.SystemError.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SystemError code. */
            code: string;

            /** SystemError data. */
            data?: (Uint8Array|null);

            /** SystemError message. */
            message: string;

            /**
             * Encodes the specified SystemError message. Does not implicitly {@link connect.v1.SystemError.verify|verify} messages.
             * @param message SystemError message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.SystemError.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SystemError message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.SystemError & connect.v1.SystemError.$Shape} SystemError
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.SystemError & connect.v1.SystemError.$Shape;
        }

        namespace SystemError {

            /** Properties of a SystemError. */
            interface $Properties {

                /** SystemError code */
                code?: (string|null);

                /** SystemError data */
                data?: (Uint8Array|null);

                /** SystemError message */
                message?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SystemError. */
            type $Shape = connect.v1.SystemError.$Properties;
        }

        /**
         * Properties of a GatewayExecutorRequestData.
         * @deprecated Use connect.v1.GatewayExecutorRequestData.$Properties instead.
         */
        interface IGatewayExecutorRequestData extends connect.v1.GatewayExecutorRequestData.$Properties {
        }

        /** Represents a GatewayExecutorRequestData. */
        class GatewayExecutorRequestData {

            /**
             * Constructs a new GatewayExecutorRequestData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.GatewayExecutorRequestData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** GatewayExecutorRequestData requestId. */
            requestId: string;

            /** GatewayExecutorRequestData accountId. */
            accountId: string;

            /** GatewayExecutorRequestData envId. */
            envId: string;

            /** GatewayExecutorRequestData appId. */
            appId: string;

            /** GatewayExecutorRequestData appName. */
            appName: string;

            /** GatewayExecutorRequestData functionId. */
            functionId: string;

            /** GatewayExecutorRequestData functionSlug. */
            functionSlug: string;

            /** GatewayExecutorRequestData stepId. */
            stepId?: (string|null);

            /** GatewayExecutorRequestData requestPayload. */
            requestPayload: Uint8Array;

            /** GatewayExecutorRequestData systemTraceCtx. */
            systemTraceCtx: Uint8Array;

            /** GatewayExecutorRequestData userTraceCtx. */
            userTraceCtx: Uint8Array;

            /** GatewayExecutorRequestData runId. */
            runId: string;

            /** GatewayExecutorRequestData leaseId. */
            leaseId: string;

            /** GatewayExecutorRequestData jobId. */
            jobId: string;

            /**
             * Encodes the specified GatewayExecutorRequestData message. Does not implicitly {@link connect.v1.GatewayExecutorRequestData.verify|verify} messages.
             * @param message GatewayExecutorRequestData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.GatewayExecutorRequestData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a GatewayExecutorRequestData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.GatewayExecutorRequestData & connect.v1.GatewayExecutorRequestData.$Shape} GatewayExecutorRequestData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.GatewayExecutorRequestData & connect.v1.GatewayExecutorRequestData.$Shape;
        }

        namespace GatewayExecutorRequestData {

            /** Properties of a GatewayExecutorRequestData. */
            interface $Properties {

                /** GatewayExecutorRequestData requestId */
                requestId?: (string|null);

                /** GatewayExecutorRequestData accountId */
                accountId?: (string|null);

                /** GatewayExecutorRequestData envId */
                envId?: (string|null);

                /** GatewayExecutorRequestData appId */
                appId?: (string|null);

                /** GatewayExecutorRequestData appName */
                appName?: (string|null);

                /** GatewayExecutorRequestData functionId */
                functionId?: (string|null);

                /** GatewayExecutorRequestData functionSlug */
                functionSlug?: (string|null);

                /** GatewayExecutorRequestData stepId */
                stepId?: (string|null);

                /** GatewayExecutorRequestData requestPayload */
                requestPayload?: (Uint8Array|null);

                /** GatewayExecutorRequestData systemTraceCtx */
                systemTraceCtx?: (Uint8Array|null);

                /** GatewayExecutorRequestData userTraceCtx */
                userTraceCtx?: (Uint8Array|null);

                /** GatewayExecutorRequestData runId */
                runId?: (string|null);

                /** GatewayExecutorRequestData leaseId */
                leaseId?: (string|null);

                /** GatewayExecutorRequestData jobId */
                jobId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a GatewayExecutorRequestData. */
            type $Shape = connect.v1.GatewayExecutorRequestData.$Properties;
        }

        /**
         * Properties of a WorkerRequestAckData.
         * @deprecated Use connect.v1.WorkerRequestAckData.$Properties instead.
         */
        interface IWorkerRequestAckData extends connect.v1.WorkerRequestAckData.$Properties {
        }

        /** Represents a WorkerRequestAckData. */
        class WorkerRequestAckData {

            /**
             * Constructs a new WorkerRequestAckData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerRequestAckData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerRequestAckData requestId. */
            requestId: string;

            /** WorkerRequestAckData accountId. */
            accountId: string;

            /** WorkerRequestAckData envId. */
            envId: string;

            /** WorkerRequestAckData appId. */
            appId: string;

            /** WorkerRequestAckData functionSlug. */
            functionSlug: string;

            /** WorkerRequestAckData stepId. */
            stepId?: (string|null);

            /** WorkerRequestAckData systemTraceCtx. */
            systemTraceCtx: Uint8Array;

            /** WorkerRequestAckData userTraceCtx. */
            userTraceCtx: Uint8Array;

            /** WorkerRequestAckData runId. */
            runId: string;

            /**
             * Encodes the specified WorkerRequestAckData message. Does not implicitly {@link connect.v1.WorkerRequestAckData.verify|verify} messages.
             * @param message WorkerRequestAckData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerRequestAckData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerRequestAckData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestAckData & connect.v1.WorkerRequestAckData.$Shape} WorkerRequestAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerRequestAckData & connect.v1.WorkerRequestAckData.$Shape;
        }

        namespace WorkerRequestAckData {

            /** Properties of a WorkerRequestAckData. */
            interface $Properties {

                /** WorkerRequestAckData requestId */
                requestId?: (string|null);

                /** WorkerRequestAckData accountId */
                accountId?: (string|null);

                /** WorkerRequestAckData envId */
                envId?: (string|null);

                /** WorkerRequestAckData appId */
                appId?: (string|null);

                /** WorkerRequestAckData functionSlug */
                functionSlug?: (string|null);

                /** WorkerRequestAckData stepId */
                stepId?: (string|null);

                /** WorkerRequestAckData systemTraceCtx */
                systemTraceCtx?: (Uint8Array|null);

                /** WorkerRequestAckData userTraceCtx */
                userTraceCtx?: (Uint8Array|null);

                /** WorkerRequestAckData runId */
                runId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerRequestAckData. */
            type $Shape = connect.v1.WorkerRequestAckData.$Properties;
        }

        /**
         * Properties of a WorkerRequestExtendLeaseData.
         * @deprecated Use connect.v1.WorkerRequestExtendLeaseData.$Properties instead.
         */
        interface IWorkerRequestExtendLeaseData extends connect.v1.WorkerRequestExtendLeaseData.$Properties {
        }

        /** Represents a WorkerRequestExtendLeaseData. */
        class WorkerRequestExtendLeaseData {

            /**
             * Constructs a new WorkerRequestExtendLeaseData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerRequestExtendLeaseData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerRequestExtendLeaseData requestId. */
            requestId: string;

            /** WorkerRequestExtendLeaseData accountId. */
            accountId: string;

            /** WorkerRequestExtendLeaseData envId. */
            envId: string;

            /** WorkerRequestExtendLeaseData appId. */
            appId: string;

            /** WorkerRequestExtendLeaseData functionSlug. */
            functionSlug: string;

            /** WorkerRequestExtendLeaseData stepId. */
            stepId?: (string|null);

            /** WorkerRequestExtendLeaseData systemTraceCtx. */
            systemTraceCtx: Uint8Array;

            /** WorkerRequestExtendLeaseData userTraceCtx. */
            userTraceCtx: Uint8Array;

            /** WorkerRequestExtendLeaseData runId. */
            runId: string;

            /** WorkerRequestExtendLeaseData leaseId. */
            leaseId: string;

            /**
             * Encodes the specified WorkerRequestExtendLeaseData message. Does not implicitly {@link connect.v1.WorkerRequestExtendLeaseData.verify|verify} messages.
             * @param message WorkerRequestExtendLeaseData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerRequestExtendLeaseData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerRequestExtendLeaseData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestExtendLeaseData & connect.v1.WorkerRequestExtendLeaseData.$Shape} WorkerRequestExtendLeaseData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerRequestExtendLeaseData & connect.v1.WorkerRequestExtendLeaseData.$Shape;
        }

        namespace WorkerRequestExtendLeaseData {

            /** Properties of a WorkerRequestExtendLeaseData. */
            interface $Properties {

                /** WorkerRequestExtendLeaseData requestId */
                requestId?: (string|null);

                /** WorkerRequestExtendLeaseData accountId */
                accountId?: (string|null);

                /** WorkerRequestExtendLeaseData envId */
                envId?: (string|null);

                /** WorkerRequestExtendLeaseData appId */
                appId?: (string|null);

                /** WorkerRequestExtendLeaseData functionSlug */
                functionSlug?: (string|null);

                /** WorkerRequestExtendLeaseData stepId */
                stepId?: (string|null);

                /** WorkerRequestExtendLeaseData systemTraceCtx */
                systemTraceCtx?: (Uint8Array|null);

                /** WorkerRequestExtendLeaseData userTraceCtx */
                userTraceCtx?: (Uint8Array|null);

                /** WorkerRequestExtendLeaseData runId */
                runId?: (string|null);

                /** WorkerRequestExtendLeaseData leaseId */
                leaseId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerRequestExtendLeaseData. */
            type $Shape = connect.v1.WorkerRequestExtendLeaseData.$Properties;
        }

        /**
         * Properties of a WorkerRequestExtendLeaseAckData.
         * @deprecated Use connect.v1.WorkerRequestExtendLeaseAckData.$Properties instead.
         */
        interface IWorkerRequestExtendLeaseAckData extends connect.v1.WorkerRequestExtendLeaseAckData.$Properties {
        }

        /** Represents a WorkerRequestExtendLeaseAckData. */
        class WorkerRequestExtendLeaseAckData {

            /**
             * Constructs a new WorkerRequestExtendLeaseAckData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerRequestExtendLeaseAckData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerRequestExtendLeaseAckData requestId. */
            requestId: string;

            /** WorkerRequestExtendLeaseAckData accountId. */
            accountId: string;

            /** WorkerRequestExtendLeaseAckData envId. */
            envId: string;

            /** WorkerRequestExtendLeaseAckData appId. */
            appId: string;

            /** WorkerRequestExtendLeaseAckData functionSlug. */
            functionSlug: string;

            /** WorkerRequestExtendLeaseAckData newLeaseId. */
            newLeaseId?: (string|null);

            /**
             * Encodes the specified WorkerRequestExtendLeaseAckData message. Does not implicitly {@link connect.v1.WorkerRequestExtendLeaseAckData.verify|verify} messages.
             * @param message WorkerRequestExtendLeaseAckData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerRequestExtendLeaseAckData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerRequestExtendLeaseAckData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestExtendLeaseAckData & connect.v1.WorkerRequestExtendLeaseAckData.$Shape} WorkerRequestExtendLeaseAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerRequestExtendLeaseAckData & connect.v1.WorkerRequestExtendLeaseAckData.$Shape;
        }

        namespace WorkerRequestExtendLeaseAckData {

            /** Properties of a WorkerRequestExtendLeaseAckData. */
            interface $Properties {

                /** WorkerRequestExtendLeaseAckData requestId */
                requestId?: (string|null);

                /** WorkerRequestExtendLeaseAckData accountId */
                accountId?: (string|null);

                /** WorkerRequestExtendLeaseAckData envId */
                envId?: (string|null);

                /** WorkerRequestExtendLeaseAckData appId */
                appId?: (string|null);

                /** WorkerRequestExtendLeaseAckData functionSlug */
                functionSlug?: (string|null);

                /** WorkerRequestExtendLeaseAckData newLeaseId */
                newLeaseId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerRequestExtendLeaseAckData. */
            type $Shape = connect.v1.WorkerRequestExtendLeaseAckData.$Properties;
        }

        /**
         * Properties of a SDKResponse.
         * @deprecated Use connect.v1.SDKResponse.$Properties instead.
         */
        interface ISDKResponse extends connect.v1.SDKResponse.$Properties {
        }

        /** Represents a SDKResponse. */
        class SDKResponse {

            /**
             * Constructs a new SDKResponse.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.SDKResponse.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SDKResponse requestId. */
            requestId: string;

            /** SDKResponse accountId. */
            accountId: string;

            /** SDKResponse envId. */
            envId: string;

            /** SDKResponse appId. */
            appId: string;

            /** SDKResponse status. */
            status: connect.v1.SDKResponseStatus;

            /** SDKResponse body. */
            body: Uint8Array;

            /** SDKResponse noRetry. */
            noRetry: boolean;

            /** SDKResponse retryAfter. */
            retryAfter?: (string|null);

            /** SDKResponse sdkVersion. */
            sdkVersion: string;

            /** SDKResponse requestVersion. */
            requestVersion: number;

            /** SDKResponse systemTraceCtx. */
            systemTraceCtx: Uint8Array;

            /** SDKResponse userTraceCtx. */
            userTraceCtx: Uint8Array;

            /** SDKResponse runId. */
            runId: string;

            /**
             * Encodes the specified SDKResponse message. Does not implicitly {@link connect.v1.SDKResponse.verify|verify} messages.
             * @param message SDKResponse message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.SDKResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SDKResponse message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.SDKResponse & connect.v1.SDKResponse.$Shape} SDKResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.SDKResponse & connect.v1.SDKResponse.$Shape;
        }

        namespace SDKResponse {

            /** Properties of a SDKResponse. */
            interface $Properties {

                /** SDKResponse requestId */
                requestId?: (string|null);

                /** SDKResponse accountId */
                accountId?: (string|null);

                /** SDKResponse envId */
                envId?: (string|null);

                /** SDKResponse appId */
                appId?: (string|null);

                /** SDKResponse status */
                status?: (connect.v1.SDKResponseStatus|null);

                /** SDKResponse body */
                body?: (Uint8Array|null);

                /** SDKResponse noRetry */
                noRetry?: (boolean|null);

                /** SDKResponse retryAfter */
                retryAfter?: (string|null);

                /** SDKResponse sdkVersion */
                sdkVersion?: (string|null);

                /** SDKResponse requestVersion */
                requestVersion?: (number|null);

                /** SDKResponse systemTraceCtx */
                systemTraceCtx?: (Uint8Array|null);

                /** SDKResponse userTraceCtx */
                userTraceCtx?: (Uint8Array|null);

                /** SDKResponse runId */
                runId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SDKResponse. */
            type $Shape = connect.v1.SDKResponse.$Properties;
        }

        /**
         * Properties of a WorkerReplyAckData.
         * @deprecated Use connect.v1.WorkerReplyAckData.$Properties instead.
         */
        interface IWorkerReplyAckData extends connect.v1.WorkerReplyAckData.$Properties {
        }

        /** Represents a WorkerReplyAckData. */
        class WorkerReplyAckData {

            /**
             * Constructs a new WorkerReplyAckData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerReplyAckData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerReplyAckData requestId. */
            requestId: string;

            /**
             * Encodes the specified WorkerReplyAckData message. Does not implicitly {@link connect.v1.WorkerReplyAckData.verify|verify} messages.
             * @param message WorkerReplyAckData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerReplyAckData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerReplyAckData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerReplyAckData & connect.v1.WorkerReplyAckData.$Shape} WorkerReplyAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerReplyAckData & connect.v1.WorkerReplyAckData.$Shape;
        }

        namespace WorkerReplyAckData {

            /** Properties of a WorkerReplyAckData. */
            interface $Properties {

                /** WorkerReplyAckData requestId */
                requestId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerReplyAckData. */
            type $Shape = connect.v1.WorkerReplyAckData.$Properties;
        }

        /**
         * Properties of a WorkerStatusData.
         * @deprecated Use connect.v1.WorkerStatusData.$Properties instead.
         */
        interface IWorkerStatusData extends connect.v1.WorkerStatusData.$Properties {
        }

        /** Represents a WorkerStatusData. */
        class WorkerStatusData {

            /**
             * Constructs a new WorkerStatusData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerStatusData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerStatusData inFlightRequestIds. */
            inFlightRequestIds: string[];

            /** WorkerStatusData shutdownRequested. */
            shutdownRequested: boolean;

            /**
             * Encodes the specified WorkerStatusData message. Does not implicitly {@link connect.v1.WorkerStatusData.verify|verify} messages.
             * @param message WorkerStatusData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerStatusData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerStatusData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerStatusData & connect.v1.WorkerStatusData.$Shape} WorkerStatusData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerStatusData & connect.v1.WorkerStatusData.$Shape;
        }

        namespace WorkerStatusData {

            /** Properties of a WorkerStatusData. */
            interface $Properties {

                /** WorkerStatusData inFlightRequestIds */
                inFlightRequestIds?: (string[]|null);

                /** WorkerStatusData shutdownRequested */
                shutdownRequested?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerStatusData. */
            type $Shape = connect.v1.WorkerStatusData.$Properties;
        }

        /**
         * Properties of a WorkerCheckpointData.
         * @deprecated Use connect.v1.WorkerCheckpointData.$Properties instead.
         */
        interface IWorkerCheckpointData extends connect.v1.WorkerCheckpointData.$Properties {
        }

        /** Represents a WorkerCheckpointData. */
        class WorkerCheckpointData {

            /**
             * Constructs a new WorkerCheckpointData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerCheckpointData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerCheckpointData requestId. */
            requestId: string;

            /** WorkerCheckpointData runId. */
            runId: string;

            /** WorkerCheckpointData leaseId. */
            leaseId: string;

            /** WorkerCheckpointData sequence. */
            sequence: number;

            /** WorkerCheckpointData ops. */
            ops: Uint8Array;

            /**
             * Encodes the specified WorkerCheckpointData message. Does not implicitly {@link connect.v1.WorkerCheckpointData.verify|verify} messages.
             * @param message WorkerCheckpointData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerCheckpointData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerCheckpointData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerCheckpointData & connect.v1.WorkerCheckpointData.$Shape} WorkerCheckpointData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerCheckpointData & connect.v1.WorkerCheckpointData.$Shape;
        }

        namespace WorkerCheckpointData {

            /** Properties of a WorkerCheckpointData. */
            interface $Properties {

                /** WorkerCheckpointData requestId */
                requestId?: (string|null);

                /** WorkerCheckpointData runId */
                runId?: (string|null);

                /** WorkerCheckpointData leaseId */
                leaseId?: (string|null);

                /** WorkerCheckpointData sequence */
                sequence?: (number|null);

                /** WorkerCheckpointData ops */
                ops?: (Uint8Array|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerCheckpointData. */
            type $Shape = connect.v1.WorkerCheckpointData.$Properties;
        }

        /** CheckpointOutcome enum. */
        enum CheckpointOutcome {

            /** CHECKPOINT_OUTCOME_UNSPECIFIED value */
            CHECKPOINT_OUTCOME_UNSPECIFIED = 0,

            /** CHECKPOINT_OUTCOME_STORED value */
            CHECKPOINT_OUTCOME_STORED = 1,

            /** CHECKPOINT_OUTCOME_STALE value */
            CHECKPOINT_OUTCOME_STALE = 2,

            /** CHECKPOINT_OUTCOME_INVALID value */
            CHECKPOINT_OUTCOME_INVALID = 3
        }

        /**
         * Properties of a GatewayCheckpointAckData.
         * @deprecated Use connect.v1.GatewayCheckpointAckData.$Properties instead.
         */
        interface IGatewayCheckpointAckData extends connect.v1.GatewayCheckpointAckData.$Properties {
        }

        /** Represents a GatewayCheckpointAckData. */
        class GatewayCheckpointAckData {

            /**
             * Constructs a new GatewayCheckpointAckData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.GatewayCheckpointAckData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** GatewayCheckpointAckData requestId. */
            requestId: string;

            /** GatewayCheckpointAckData sequence. */
            sequence: number;

            /** GatewayCheckpointAckData outcome. */
            outcome: connect.v1.CheckpointOutcome;

            /** GatewayCheckpointAckData message. */
            message: string;

            /**
             * Encodes the specified GatewayCheckpointAckData message. Does not implicitly {@link connect.v1.GatewayCheckpointAckData.verify|verify} messages.
             * @param message GatewayCheckpointAckData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.GatewayCheckpointAckData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a GatewayCheckpointAckData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.GatewayCheckpointAckData & connect.v1.GatewayCheckpointAckData.$Shape} GatewayCheckpointAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.GatewayCheckpointAckData & connect.v1.GatewayCheckpointAckData.$Shape;
        }

        namespace GatewayCheckpointAckData {

            /** Properties of a GatewayCheckpointAckData. */
            interface $Properties {

                /** GatewayCheckpointAckData requestId */
                requestId?: (string|null);

                /** GatewayCheckpointAckData sequence */
                sequence?: (number|null);

                /** GatewayCheckpointAckData outcome */
                outcome?: (connect.v1.CheckpointOutcome|null);

                /** GatewayCheckpointAckData message */
                message?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a GatewayCheckpointAckData. */
            type $Shape = connect.v1.GatewayCheckpointAckData.$Properties;
        }

        /** NackReason enum. */
        enum NackReason {

            /** NACK_REASON_UNSPECIFIED value */
            NACK_REASON_UNSPECIFIED = 0,

            /** NACK_REASON_UNKNOWN_APP value */
            NACK_REASON_UNKNOWN_APP = 1,

            /** NACK_REASON_UNKNOWN_FUNCTION value */
            NACK_REASON_UNKNOWN_FUNCTION = 2,

            /** NACK_REASON_SHUTTING_DOWN value */
            NACK_REASON_SHUTTING_DOWN = 3,

            /** NACK_REASON_AT_CAPACITY value */
            NACK_REASON_AT_CAPACITY = 4,

            /** NACK_REASON_MALFORMED value */
            NACK_REASON_MALFORMED = 5,

            /** NACK_REASON_DRAIN_TIMEOUT value */
            NACK_REASON_DRAIN_TIMEOUT = 6,

            /** NACK_REASON_STALLED value */
            NACK_REASON_STALLED = 7
        }

        /**
         * Properties of a WorkerRequestNackData.
         * @deprecated Use connect.v1.WorkerRequestNackData.$Properties instead.
         */
        interface IWorkerRequestNackData extends connect.v1.WorkerRequestNackData.$Properties {
        }

        /** Represents a WorkerRequestNackData. */
        class WorkerRequestNackData {

            /**
             * Constructs a new WorkerRequestNackData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerRequestNackData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerRequestNackData requestId. */
            requestId: string;

            /** WorkerRequestNackData runId. */
            runId: string;

            /** WorkerRequestNackData leaseId. */
            leaseId: string;

            /** WorkerRequestNackData reason. */
            reason: connect.v1.NackReason;

            /** WorkerRequestNackData message. */
            message: string;

            /**
             * Encodes the specified WorkerRequestNackData message. Does not implicitly {@link connect.v1.WorkerRequestNackData.verify|verify} messages.
             * @param message WorkerRequestNackData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerRequestNackData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerRequestNackData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestNackData & connect.v1.WorkerRequestNackData.$Shape} WorkerRequestNackData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerRequestNackData & connect.v1.WorkerRequestNackData.$Shape;
        }

        namespace WorkerRequestNackData {

            /** Properties of a WorkerRequestNackData. */
            interface $Properties {

                /** WorkerRequestNackData requestId */
                requestId?: (string|null);

                /** WorkerRequestNackData runId */
                runId?: (string|null);

                /** WorkerRequestNackData leaseId */
                leaseId?: (string|null);

                /** WorkerRequestNackData reason */
                reason?: (connect.v1.NackReason|null);

                /** WorkerRequestNackData message */
                message?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerRequestNackData. */
            type $Shape = connect.v1.WorkerRequestNackData.$Properties;
        }

        /**
         * Properties of a GatewayCancelData.
         * @deprecated Use connect.v1.GatewayCancelData.$Properties instead.
         */
        interface IGatewayCancelData extends connect.v1.GatewayCancelData.$Properties {
        }

        /** Represents a GatewayCancelData. */
        class GatewayCancelData {

            /**
             * Constructs a new GatewayCancelData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.GatewayCancelData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** GatewayCancelData requestId. */
            requestId: string;

            /** GatewayCancelData reason. */
            reason: string;

            /**
             * Encodes the specified GatewayCancelData message. Does not implicitly {@link connect.v1.GatewayCancelData.verify|verify} messages.
             * @param message GatewayCancelData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.GatewayCancelData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a GatewayCancelData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.GatewayCancelData & connect.v1.GatewayCancelData.$Shape} GatewayCancelData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.GatewayCancelData & connect.v1.GatewayCancelData.$Shape;
        }

        namespace GatewayCancelData {

            /** Properties of a GatewayCancelData. */
            interface $Properties {

                /** GatewayCancelData requestId */
                requestId?: (string|null);

                /** GatewayCancelData reason */
                reason?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a GatewayCancelData. */
            type $Shape = connect.v1.GatewayCancelData.$Properties;
        }

        /**
         * Properties of a WorkerStallData.
         * @deprecated Use connect.v1.WorkerStallData.$Properties instead.
         */
        interface IWorkerStallData extends connect.v1.WorkerStallData.$Properties {
        }

        /** Represents a WorkerStallData. */
        class WorkerStallData {

            /**
             * Constructs a new WorkerStallData.
             * @param [properties] Properties to set
             */
            constructor(properties?: connect.v1.WorkerStallData.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** WorkerStallData requestId. */
            requestId: string;

            /** WorkerStallData runId. */
            runId: string;

            /** WorkerStallData functionSlug. */
            functionSlug: string;

            /** WorkerStallData stepId. */
            stepId: string;

            /** WorkerStallData stalledMs. */
            stalledMs: number;

            /** WorkerStallData stack. */
            stack: string;

            /** WorkerStallData ended. */
            ended: boolean;

            /** WorkerStallData location. */
            location: string;

            /** WorkerStallData codeName. */
            codeName: string;

            /** WorkerStallData sequence. */
            sequence: number;

            /** WorkerStallData suppressed. */
            suppressed: number;

            /** WorkerStallData waiting. */
            waiting: number;

            /** WorkerStallData leasesGivenUp. */
            leasesGivenUp: boolean;

            /**
             * Encodes the specified WorkerStallData message. Does not implicitly {@link connect.v1.WorkerStallData.verify|verify} messages.
             * @param message WorkerStallData message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: connect.v1.WorkerStallData.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a WorkerStallData message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {connect.v1.WorkerStallData & connect.v1.WorkerStallData.$Shape} WorkerStallData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): connect.v1.WorkerStallData & connect.v1.WorkerStallData.$Shape;
        }

        namespace WorkerStallData {

            /** Properties of a WorkerStallData. */
            interface $Properties {

                /** WorkerStallData requestId */
                requestId?: (string|null);

                /** WorkerStallData runId */
                runId?: (string|null);

                /** WorkerStallData functionSlug */
                functionSlug?: (string|null);

                /** WorkerStallData stepId */
                stepId?: (string|null);

                /** WorkerStallData stalledMs */
                stalledMs?: (number|null);

                /** WorkerStallData stack */
                stack?: (string|null);

                /** WorkerStallData ended */
                ended?: (boolean|null);

                /** WorkerStallData location */
                location?: (string|null);

                /** WorkerStallData codeName */
                codeName?: (string|null);

                /** WorkerStallData sequence */
                sequence?: (number|null);

                /** WorkerStallData suppressed */
                suppressed?: (number|null);

                /** WorkerStallData waiting */
                waiting?: (number|null);

                /** WorkerStallData leasesGivenUp */
                leasesGivenUp?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a WorkerStallData. */
            type $Shape = connect.v1.WorkerStallData.$Properties;
        }
    }
}
